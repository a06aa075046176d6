import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

/** Builds dist/, which the package's own name and its command resolve to. */
export function setup(): void {
  const root = join(import.meta.dirname, '..', '..');
  execFileSync(join(root, 'node_modules', '.bin', 'tsc'), ['-p', 'tsconfig.build.json'], {
    cwd: root,
    stdio: 'inherit',
  });
}
