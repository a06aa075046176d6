#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/**
 * The `pointsman` command. Pointsman needs a newer Node than many machines have, and brings it along as the npm
 * package `node`; this file is the part that the machine's own Node runs, so it keeps to what Node 20 knows.
 */

/** The first Node that runs TypeScript by itself. */
const NODE_MIN: readonly [number, number] = [22, 18];

const here = dirname(fileURLToPath(import.meta.url));

function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [majorMin, minorMin] = NODE_MIN;
  return major > majorMin || (major === majorMin && minor >= minorMin);
}

/** In a checkout the sources, which are never out of date; in an installed package, where Node will not strip types, the build. */
function mainPath(): string {
  let root = here;
  while (!existsSync(join(root, 'package.json')) && dirname(root) !== root) root = dirname(root);
  const source = join(root, 'src', 'main.ts');
  const installed = root.split(sep).includes('node_modules');
  return !installed && existsSync(source) ? source : join(root, 'dist', 'src', 'main.js');
}

function bundledNode(): string | undefined {
  const requireHere = createRequire(import.meta.url);
  try {
    const path = join(dirname(requireHere.resolve('node/package.json')), 'bin', 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    // Not installed, such as after `npm ci --omit=optional` or a copy of `dist` alone: the caller says what to do.
    return undefined;
  }
}

function runWith(node: string, main: string): void {
  const child = spawn(node, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  const forward = (signal: NodeJS.Signals): void => {
    child.kill(signal);
  };
  // A terminal sends Ctrl-C to both of us; forwarded as well, it would look like an impatient second one.
  process.on('SIGINT', () => {
    if (process.stdin.isTTY !== true) forward('SIGINT');
  });
  process.on('SIGTERM', forward);
  process.on('SIGHUP', forward);
  child.once('error', (error) => {
    process.stderr.write(`pointsman: cannot start ${node}: ${error.message}\n`);
    process.exitCode = 1;
  });
  child.once('exit', (code, signal) => {
    if (signal === null) {
      process.exitCode = code ?? 1;
      return;
    }
    // Ends the way the child ended, so that a shell sees the signal.
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}

const main = mainPath();
const [majorMin, minorMin] = NODE_MIN;
if (isNewEnough(process.versions.node)) {
  await import(pathToFileURL(main).href);
} else {
  const node = bundledNode();
  if (node === undefined) {
    process.stderr.write(
      `pointsman: Node ${majorMin}.${minorMin} or newer is needed, this is ${process.version}, and the npm package ` +
        '`node` that brings one is not installed. Run `npm install` again with install scripts allowed, or put a newer Node on PATH.\n',
    );
    process.exitCode = 1;
  } else {
    runWith(node, main);
  }
}
