import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type StartedProgram, startProgram } from '../support/programs/started-program.ts';
import {
  type ScriptedServer,
  startScriptedServer,
  type Visit,
} from '../support/sidecar/scripted-server.ts';

/** The sidecar as a process, ended by signals. */

let engine: ScriptedServer;
let sidecar: StartedProgram<{ readonly address: string }>;
let address: string;

beforeEach(async () => {
  engine = await startScriptedServer();
  const ports = ['--host', '127.0.0.1', '--port', '0', '--engine', engine.address];
  sidecar = await startProgram(['sidecar', ...ports, '--drain-notice-ms', '0']);
  ({ address } = sidecar.document);
});
afterEach(async () => {
  sidecar.child.kill('SIGKILL');
  await engine.stop();
});

async function stream(): Promise<{ readonly visit: Visit; readonly text: Promise<string> }> {
  const answer = fetch(`http://${address}/v1/completions`, { method: 'POST', body: '{}' });
  const visit = await engine.next();
  visit.response.write('1');
  const response = await answer;
  return { visit, text: response.text() };
}

async function accepts(): Promise<boolean> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect(Number(port), host);
  const accepted = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return accepted;
}

it('[V67] ends after SIGTERM when its streams have ended', async () => {
  const { visit, text } = await stream();
  const { child, exited, lines } = sidecar;
  child.kill('SIGTERM');
  // Once the port is closed, the stream is all that is left.
  while (await accepts()) continue;
  visit.response.end('2');
  expect(await text).toBe('12');
  expect(await exited).toEqual([0, null]);
  expect(lines).toEqual(['SIGTERM: draining, a second one ends at once']);
});

it('[V67] ends at once after a second SIGTERM', async () => {
  const { text } = await stream();
  const { child, exited, lines } = sidecar;
  child.kill('SIGTERM');
  while (lines.length === 0) await new Promise((resolve) => void setImmediate(resolve));
  child.kill('SIGTERM');
  await expect(text).rejects.toThrow();
  expect(await exited).toEqual([143, null]);
});
