import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The absolute path of a file the package ships, such as `deploy/envoy.yaml`, from the sources and from `dist` alike. */
export function packageFile(path: string): string {
  let folder = import.meta.dirname;
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`${path}: no package.json above ${import.meta.dirname}`);
    folder = parent;
  }
  return join(folder, path);
}
