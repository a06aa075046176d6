import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
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

/** A socket in which nothing has room: the descriptor of one end, and the other, which reads nothing. */
async function fullSocket() {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-log-'));
  ends.push(() => rmSync(folder, { recursive: true }));
  const server = createServer({ pauseOnConnect: true }).listen(join(folder, 'log'));
  ends.push(() => server.close());
  const writer = connect(join(folder, 'log'));
  const [reader] = (await once(server, 'connection')) as [Socket];
  ends.push(
    () => writer.destroy(),
    () => reader.destroy(),
  );
  const { fd } = (writer as unknown as { readonly _handle: { readonly fd: number } })._handle;
  const full = (): void => {
    for (;;) writeSync(fd, Buffer.alloc(1));
  };
  expect(full).toThrow('EAGAIN');
  return { fd, reader };
}

/** Starts a picker that logs there, and asks whether it serves. */
async function servesWith(stderr: number) {
  const child = spawn(process.execPath, [PROGRAM, ...SERVE, ...PORTS], {
    stdio: ['ignore', 'pipe', stderr],
  });
  ends.push(() => child.kill('SIGKILL'));
  const exited = once(child, 'exit');
  const [said] = (await once(child.stdout as Readable, 'data')) as [Buffer];
  const { metricsPort } = JSON.parse(String(said)) as { readonly metricsPort: number };
  expect((await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).status).toBe(200);
  return async () => {
    child.kill('SIGINT');
    expect(await exited).toEqual([0, null]);
  };
}

it.skipIf(process.platform !== 'linux')(
  '[V464] a picker whose log is a pipe that nobody reads serves on, and writes on once it is read',
  async () => {
    const { pipe, path } = fullPipe();
    const stderr = openSync(path, constants.O_WRONLY);
    const endsWell = await servesWith(stderr);
    closeSync(stderr);
    // Takes what fills the pipe.
    read(pipe);
    await eventually(
      () => read(pipe),
      (log) => log.includes('"msg":"serving"'),
    );
    await endsWell();
  },
);

it.skipIf(process.platform !== 'linux')(
  '[V471] a picker whose log is a socket that nobody reads serves on, and writes on once it is read',
  async () => {
    const { fd, reader } = await fullSocket();
    const endsWell = await servesWith(fd);
    let log = '';
    reader.on('data', (piece) => {
      log += String(piece);
    });
    reader.resume();
    await eventually(
      () => log,
      (all) => all.includes('"msg":"serving"'),
    );
    await endsWell();
  },
);
