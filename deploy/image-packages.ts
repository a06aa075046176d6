import { readFileSync, writeFileSync } from 'node:fs';

/**
 * A step of deploy/Dockerfile: makes dependencies of the packages that only some options need, so
 * that `npm prune --omit=dev` keeps them, with the versions of the lock file. The image has its own
 * Node.
 */

interface Package {
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}

const path = new URL('../package.json', import.meta.url);
const described = JSON.parse(readFileSync(path, 'utf8')) as Package;
for (const name of Object.keys(described.peerDependencies)) {
  const version = described.devDependencies[name];
  if (version === undefined || name === 'node') continue;
  described.dependencies[name] = version;
  delete described.devDependencies[name];
}
writeFileSync(path, `${JSON.stringify(described, undefined, 2)}\n`);
