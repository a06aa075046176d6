#!/usr/bin/env node
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { delimiter, dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The `pointsman` command. Pointsman needs a newer Node than many machines have; another one may be
 * on PATH, or in the npm package `node`. The machine's own Node runs this file, which therefore
 * uses Node 20 features only.
 */

/** The first version that runs TypeScript. */
const NODE_MIN: readonly [major: number, minor: number] = [22, 18];
/** Another Node gets this long to say its version. */
const VERSION_MS = 5000;

const here = dirname(fileURLToPath(import.meta.url));

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin, minorMin] = NODE_MIN;
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

/** The sources in a checkout; the build in an installed package, where Node strips no types. */
function mainPath(): string {
  let root = here;
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  const source = join(root, 'src', 'main.ts');
  const installed = root.split(sep).includes('node_modules');
  return !installed && existsSync(source) ? source : join(root, 'dist', 'src', 'main.js');
}

/** The Node of the npm package `node`, if that is installed. */
function packagedNode(): string | undefined {
  const requireHere = createRequire(import.meta.url);
  try {
    const path = join(dirname(requireHere.resolve('node/package.json')), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** The first Node on PATH that is new enough. */
function nodeOnPath(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  return folders
    .map((folder) => join(folder, 'node'))
    .find((path) => {
      if (!existsSync(path)) return false;
      const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8', timeout: VERSION_MS });
      return /^v\d/.test(stdout ?? '') && isNewEnough(stdout.slice(1));
    });
}

function runWith(node: string, main: string): void {
  // As in the image: of memory that was freed, the C library keeps less where threads share it.
  const env = { MALLOC_ARENA_MAX: '2', ...process.env };
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit', env });
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  // A terminal sends Ctrl-C to the child, too; forwarded, it would count as a second one.
  process.on('SIGINT', () => {
    if (process.stdin.isTTY !== true) forward('SIGINT');
  });
  process.on('SIGTERM', forward);
  for (const signal of ['SIGHUP', 'SIGUSR1', 'SIGUSR2'] as const) process.on(signal, forward);
  child.once('error', (error) => {
    process.stderr.write(`pointsman: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    // Ends by the same signal, so that a shell sees it.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const main = mainPath();
const [majorMin, minorMin] = NODE_MIN;
if (isNewEnough(process.versions.node)) {
  await import(pathToFileURL(main).href);
} else {
  const node = packagedNode() ?? nodeOnPath();
  if (node === undefined) {
    process.stderr.write(
      `pointsman: needs Node ${majorMin}.${minorMin} or newer. This is ${process.version}, and PATH ` +
        'has no newer one. Run `npm install node@24` where Pointsman is installed: this npm package ' +
        'brings one, by an install script that npm must be allowed to run.\n',
    );
    process.exitCode = 1;
  } else {
    runWith(node, main);
  }
}
