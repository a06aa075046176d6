#!/usr/bin/env node
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

// Runs on Node 20 and up, to find a Node that can run the rest.

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const root = join(here, '..', '..');

/** Types are stripped natively from here on, and zstd is there. */
function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.replace('v', '').split('.').map(Number);
  return major > 22 || (major === 22 && minor >= 18);
}

function nodeBinary(): string | undefined {
  if (isRecent(process.version)) return process.execPath;
  try {
    const installed = join(dirname(require.resolve('node/package.json')), 'bin', 'node');
    return existsSync(installed) ? installed : undefined;
  } catch {
    return undefined;
  }
}

/** In a checkout the sources run as they are; Node strips no types inside node_modules, so an installed copy is built. */
function entryPoint(): string {
  const source = join(root, 'src', 'main.ts');
  const installed = root.split(sep).includes('node_modules');
  return !installed && existsSync(source) ? source : join(here, 'main.js');
}

const binary = nodeBinary();
if (binary === undefined) {
  process.stderr.write(
    `pointsman needs Node 22.18 or newer and this is ${process.version}; its own copy (the npm package node) is not installed: run npm ci\n`,
  );
  process.exit(1);
}
const child = spawn(binary, [entryPoint(), ...process.argv.slice(2)], { stdio: 'inherit' });
// The terminal signals both of us; the child decides when it has finished.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? (signal === 'SIGINT' ? 130 : 143);
});
