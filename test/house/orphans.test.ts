import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { envoyBinary, eventually } from '../../bench/support/stack.ts';

const binary = await envoyBinary();
const source = (...path: readonly string[]): string =>
  JSON.stringify(join(import.meta.dirname, '..', '..', 'src', ...path));

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
afterEach(() => {
  for (const parent of parents.splice(0)) parent.kill('SIGTERM');
});

/** Whether something listens there. */
function listens(address: string): Promise<boolean> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect(Number(port), host);
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

async function ended(address: string): Promise<void> {
  await eventually(
    () => listens(address),
    (still) => !still,
  );
}

/** Runs it until it has printed so many addresses, and then ends it by SIGKILL. */
async function kill(script: string, count: number): Promise<readonly string[]> {
  const args = ['--input-type=module', '--eval', script, binary ?? ''];
  const parent = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, TMPDIR: temporary },
  });
  parents.push(parent);
  const addresses: string[] = [];
  for await (const address of createInterface({ input: parent.stdout })) {
    expect(await listens(address)).toBe(true);
    addresses.push(address);
    if (addresses.length === count) break;
  }
  expect(addresses).toHaveLength(count);
  parent.kill('SIGKILL');
  expect(await once(parent, 'exit')).toEqual([null, 'SIGKILL']);
  return addresses;
}

describe('after the end of a parent by SIGKILL, these end too', () => {
  it('the commands that it has started', async () => {
    await Promise.all((await kill(COMMANDS, 3)).map(ended));
  });

  it.skipIf(binary === undefined)('the Envoy that it has started, and its folder', async () => {
    await Promise.all((await kill(ENVOY, 1)).map(ended));
    await eventually(
      () => readdirSync(temporary),
      (left) => left.length === 0,
    );
  });
});
