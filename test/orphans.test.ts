import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, eventually } from '../bench/support/stack.ts';

const binary = await envoyBinary();
const source = (...path: readonly string[]): string =>
  JSON.stringify(join(import.meta.dirname, '..', 'src', ...path));

/** Starts the demo's processes in the demo's way, and prints the address of each on a line. */
const COMMANDS = `
  import { startChildCommand } from ${source('lab', 'demo', 'child-command.ts')};
  const show = (address) => console.log(String(address));
  const stub = await startChildCommand(['stub', '--count', '1', '--port', '0', '--json']);
  show(stub.document.endpoints[0]);
  const ports = ['--host', '127.0.0.1', '--extproc-port', '0', '--metrics-port', '0'];
  const rest = ['--insecure', '--drain-notice-ms', '0', '--drain-timeout-ms', '500', '--log-level', 'warn', '--json'];
  const to = ['--endpoints', stub.document.endpoints[0]];
  const serve = await startChildCommand(['serve', ...ports, ...rest, ...to]);
  show('127.0.0.1:' + serve.document.metricsPort);
  const gateway = await startChildCommand(['gateway', '--port', '0', '--insecure', '--json']);
  show('127.0.0.1:' + gateway.document.port);
`;
const ENVOY = `
  import { renderEnvoyConfig } from ${source('lab', 'envoy', 'render-config.ts')};
  import { startEnvoy } from ${source('lab', 'envoy', 'run-envoy.ts')};
  const options = { wiring: 'envoy', listenerPort: 0, extProcAddress: '127.0.0.1:1' };
  const configYaml = renderEnvoyConfig(options);
  const envoy = await startEnvoy({ binary: process.argv[1], configYaml, log: () => undefined });
  console.log('127.0.0.1:' + envoy.adminPort);
`;

const temporary = mkdtempSync(join(tmpdir(), 'pointsman-orphans-'));
afterAll(() => rmSync(temporary, { recursive: true }));

const parents: ChildProcess[] = [];
const sockets: Socket[] = [];
afterEach(() => {
  for (const parent of parents.splice(0)) parent.kill('SIGTERM');
  for (const socket of sockets.splice(0)) socket.destroy();
});

interface Connection {
  /** Sends nothing: the connection closes when the process at the other end has ended. */
  readonly closed: Promise<unknown>;
}

async function connectTo(address: string): Promise<Connection> {
  const [host, port] = address.split(':');
  const socket = connect(Number(port), host);
  sockets.push(socket);
  await once(socket, 'connect');
  const closed = new Promise((resolve) => void socket.once('close', resolve));
  // A connection that is reset also closes.
  socket.on('error', () => undefined).resume();
  return { closed };
}

/**
 * Runs it until it has printed so many addresses, connects to each, and then ends it by SIGKILL.
 */
async function kill(script: string, addresses: number): Promise<readonly Connection[]> {
  const args = ['--input-type=module', '--eval', script, binary ?? ''];
  const parent = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary },
  });
  parents.push(parent);
  const connections: Connection[] = [];
  for await (const address of createInterface({ input: parent.stdout })) {
    connections.push(await connectTo(address));
    if (connections.length === addresses) break;
  }
  expect(connections).toHaveLength(addresses);
  parent.kill('SIGKILL');
  expect(await once(parent, 'exit')).toEqual([null, 'SIGKILL']);
  return connections;
}

// Shorter than the minute after which a server closes an idle connection.
describe('after the end of a parent by SIGKILL, these end too', { timeout: 30_000 }, () => {
  it('the commands that it has started', async () => {
    await Promise.all((await kill(COMMANDS, 3)).map(({ closed }) => closed));
  });

  it.skipIf(binary === undefined)('the Envoy that it has started, and its folder', async () => {
    await Promise.all((await kill(ENVOY, 1)).map(({ closed }) => closed));
    await eventually(
      () => readdirSync(temporary),
      (left) => left.length === 0,
    );
  });
});
