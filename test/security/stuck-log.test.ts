import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { PROGRAM } from '../support/programs/program.ts';

const SERVE = [
  'serve',
  '--json',
  '--insecure',
  '--host',
  '127.0.0.1',
  '--endpoints',
  '127.0.0.1:9',
];
const PORTS = ['--extproc-port', '0', '--metrics-port', '0'];
const PIPE_BYTES = 1024 * 1024;

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0).reverse()) end();
});

/** A pipe in which nothing has room: its descriptor for both ends, and its path. */
function fullPipe() {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-log-'));
  ends.push(() => rmSync(folder, { recursive: true }));
  const path = join(folder, 'log');
  execFileSync('mkfifo', [path]);
  const pipe = openSync(path, constants.O_RDWR | constants.O_NONBLOCK);
  ends.push(() => closeSync(pipe));
  const full = (): void => {
    for (;;) writeSync(pipe, Buffer.alloc(1));
  };
  expect(full).toThrow('EAGAIN');
  return { pipe, path };
}

/** All that is in a pipe. */
function read(pipe: number): string {
  const bytes = Buffer.alloc(PIPE_BYTES);
  try {
    return bytes.toString('utf8', 0, readSync(pipe, bytes));
  } catch {
    return '';
  }
}

it.skipIf(process.platform !== 'linux')(
  '[V464] a picker whose log is a pipe that nobody reads serves on, and writes on once it is read',
  async () => {
    const { pipe, path } = fullPipe();
    const stderr = openSync(path, constants.O_WRONLY);
    const child = spawn(process.execPath, [PROGRAM, ...SERVE, ...PORTS], {
      stdio: ['ignore', 'pipe', stderr],
    });
    ends.push(() => child.kill('SIGKILL'));
    closeSync(stderr);
    const exited = once(child, 'exit');
    const [said] = (await once(child.stdout as Readable, 'data')) as [Buffer];
    const { metricsPort } = JSON.parse(String(said)) as { readonly metricsPort: number };
    expect((await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).status).toBe(200);
    // Takes what fills the pipe.
    read(pipe);
    await eventually(
      () => read(pipe),
      (log) => log.includes('"msg":"serving"'),
    );
    child.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
  },
);
