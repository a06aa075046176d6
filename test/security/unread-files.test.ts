import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { selfSignedCertificate } from '../../src/runtime/network/server/self-signed-certificate.ts';
import { limitFiles } from '../support/programs/limit-files.ts';
import { startProgram } from '../support/programs/started-program.ts';

const folder = mkdtempSync(join(tmpdir(), 'unread-'));
const stops: (() => void)[] = [];
afterEach(() => {
  for (const stop of stops.splice(0)) stop();
});
afterAll(() => rmSync(folder, { recursive: true }));
const write = (name: string, text: Buffer | string): void =>
  writeFileSync(join(folder, name), text);

async function writeAll(endpoint: string, picker: string): Promise<void> {
  const { cert, key } = await selfSignedCertificate();
  write('tls.crt', cert);
  write('tls.key', key);
  write('endpoints.yaml', `endpoints: [{name: ${endpoint}, address: 127.0.0.1, port: 9}]`);
  const profile = `schedulingProfiles: [{name: default, plugins: [{pluginRef: ${picker}}]}]`;
  write('config.yaml', `plugins: [{type: ${picker}}]\n${profile}`);
}

it.skipIf(process.platform !== 'linux')(
  '[V553] files that change while nothing can be opened count as soon as they can be read',
  async () => {
    await writeAll('before', 'random-picker');
    const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
    const files = ['--endpoints-file', join(folder, 'endpoints.yaml'), '--cert-path', folder];
    const config = ['--config', join(folder, 'config.yaml')];
    const picker = await startProgram(['serve', ...ports, ...files, ...config]);
    const said = (words: string): number =>
      picker.lines.filter((line) => line.includes(words)).length;
    const refusals = [
      'the endpoints file is invalid',
      'certificate refused',
      'configuration refused',
    ];
    const adoptions = ['endpoints loaded', 'certificate replaced', 'configuration adopted'];
    const counts = (): readonly number[] => [...refusals, ...adoptions].map(said);
    const areCounted = async (...wanted: readonly number[]): Promise<void> => {
      await eventually(counts, (found) => found.join() === wanted.join(), 2400);
    };
    try {
      await areCounted(0, 0, 0, 1, 0, 0);
      limitFiles(picker.child.pid);
      await writeAll('after', 'max-score-picker');
      await areCounted(1, 1, 1, 1, 0, 0);
      limitFiles(picker.child.pid, 1024);
      await areCounted(1, 1, 1, 2, 1, 1);
    } finally {
      await picker.end('SIGKILL');
    }
    expect(picker.lines.join()).not.toContain('"level":60');
  },
  120_000,
);

const PROXIES = [
  ['gateway', ['--insecure', '--port', '0']],
  ['sidecar', ['--port', '0']],
] as const;

it.skipIf(process.platform !== 'linux').each(PROXIES)(
  '[V492] %s says once that it can open nothing',
  async (command, args) => {
    const program = await startProgram([command, '--host', '127.0.0.1', ...args]);
    const said = (): number =>
      program.lines.filter((line) => line.includes('no further file or connection')).length;
    try {
      limitFiles(program.child.pid);
      await eventually(said, (lines) => lines === 1, 2400);
    } finally {
      await program.end('SIGKILL');
    }
  },
  120_000,
);

/** Clients that keep their connection open without a request, and how many of these have ended. */
async function idleClients(port: number, count: number): Promise<() => number> {
  const sockets = Array.from({ length: count }, () => connect(port, '127.0.0.1'));
  for (const socket of sockets) socket.on('error', () => undefined).resume();
  stops.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return () => sockets.filter(({ closed }) => closed).length;
}

it.skipIf(process.platform !== 'linux').each(PROXIES)(
  '[V564] %s serves a new client where idle ones hold all files that may be open',
  async (command, args) => {
    const program = await startProgram<{ port?: number; address?: string }>([
      command,
      '--host',
      '127.0.0.1',
      ...args,
    ]);
    const { port = Number(program.document.address?.split(':').at(-1)) } = program.document;
    try {
      limitFiles(program.child.pid, 64);
      const ended = await idleClients(port, 100);
      await eventually(ended, (count) => count > 0, 2400);
      // Nothing is behind it, and it says so.
      expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBeOneOf([502, 503]);
    } finally {
      await program.end('SIGKILL');
    }
  },
  120_000,
);

it.skipIf(process.platform !== 'linux')(
  '[V564] a picker is reached where idle clients of its port for gateways hold all files that may be open',
  async () => {
    const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
    const picker = await startProgram<{ extProcPort: number; metricsPort: number }>([
      'serve',
      '--insecure',
      '--endpoints',
      '127.0.0.1:9',
      ...ports,
    ]);
    const { extProcPort, metricsPort } = picker.document;
    try {
      limitFiles(picker.child.pid, 64);
      const ended = await idleClients(extProcPort, 100);
      await eventually(ended, (count) => count > 0, 2400);
      expect((await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).status).toBe(200);
    } finally {
      await picker.end('SIGKILL');
    }
  },
  120_000,
);
