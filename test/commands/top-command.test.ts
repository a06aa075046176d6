import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { readEvents } from '../../src/commands/admin-client/read-events.ts';
import { afterMessage, type TopState, topText } from '../../src/commands/output/top-text.ts';
import type { LiveMessage } from '../../src/serve/live/live-message.ts';
import { LiveStack } from '../support/programs/live-stack.ts';
import { PROGRAM } from '../support/programs/program.ts';

const run = promisify(execFile);
let stack: LiveStack;

beforeAll(async () => {
  stack = await LiveStack.start();
});
afterAll(() => stack?.stop());

const top = (...args: readonly string[]) =>
  run(process.execPath, [PROGRAM, 'top', '--admin', stack.admin, ...args]);

it('[O10] prints pool, times and latest decisions into a pipe, once, and as JSON', async () => {
  const ids = await stack.send(3);
  const { stdout } = await top();
  expect(stdout).toMatch(/^pool llama · configuration default · pointsman \d/);
  expect(stdout).toContain('endpoints 4, 1 with trouble');
  expect(stdout).toContain('127.0.0.1:9 is not scraped: /metrics');
  expect(stdout).toMatch(/(as good as|[\d.]+ ms better than) 127/);
  for (const id of ids) expect(stdout).toContain(id);
  expect(stdout).not.toContain('\u001b');
  const { stdout: json } = await top('--json');
  const message = JSON.parse(json) as LiveMessage;
  expect(message).toMatchObject({ totals: { endpoints: 4 }, picker: { pool: 'llama' } });
});

it('[O375] explain lists decisions without the namespace that all their endpoints have', async () => {
  await stack.send(1);
  const explain = [PROGRAM, 'explain', '--admin', stack.admin];
  const json = (await run(process.execPath, [...explain, '--json'])).stdout;
  expect(json).toContain('"default/127.0.0.1:');
  const { stdout } = await run(process.execPath, explain);
  expect(stdout).toMatch(/ {2}127\.0\.0\.1:\d+ {2}/);
  expect(stdout).not.toContain('default/127');
});

it('[O10] [O237] follows the picker, and keeps the rows that a message leaves out', async () => {
  const ids = await stack.send(1);
  let state: TopState | undefined;
  await readEvents<LiveMessage>({ admin: stack.admin }, '/debug/live', (message) => {
    // How late the event loop is depends on the machine, and each reason takes a line.
    const well: LiveMessage = { ...message, health: { state: 'ready', reasons: [] } };
    const { pool: _left, ...withoutPool } = well;
    state = afterMessage(state, state === undefined ? well : withoutPool);
    return (state?.steps.length ?? 0) < 2 || message.picker !== undefined;
  });
  const text = state === undefined ? '' : topText(state, { lines: 16, columns: 160 });
  expect(text).toContain('… and 2 more endpoints');
  // [O479] Who decides stands at the top.
  const promoted = { shadow: 'mine.yaml', percent: 20 };
  const changed = state && { ...state, message: { ...state.message, promoted } };
  expect(changed && topText(changed, { lines: 16, columns: 160 })).toMatch(
    /^pool llama · configuration default · mine\.yaml decides 20 % · pointsman \d/,
  );
  // [O237] What matters most is left where a terminal is narrow.
  const narrow = state === undefined ? '' : topText(state, { lines: 16, columns: 80 });
  for (const line of narrow.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  expect(narrow).toMatch(/(as good as|better than) 127/);
  expect(narrow).toMatch(/[▁▂▃▄▅▆▇█]\n/);
  expect(text.split('\n').filter((line) => line.includes(ids[0] ?? '?'))).toHaveLength(1);
});

it('[O10] says where there is no picker, and what a picker says that refuses', async () => {
  await expect(run(process.execPath, [PROGRAM, 'top', '--admin', '127.0.0.1:9'])).rejects.toThrow(
    /no picker at 127\.0\.0\.1:9 .*--admin/,
  );
  const streams = await Promise.all(
    Array.from({ length: 8 }, () => fetch(`http://${stack.admin}/debug/live`)),
  );
  await expect(top()).rejects.toThrow('8 pages are open already: close one of them');
  for (const stream of streams) await stream.body?.cancel();
  // The picker notices a moment later.
  await eventually(
    () => fetch(`http://${stack.admin}/debug/live`).then(({ status }) => status),
    (status) => status === 200,
  );
});

it.each(['top', 'explain', 'shadow top', 'doctor'])(
  '[O180] %s says which port it wants, where it is given that of Envoy’s calls',
  async (command) => {
    const extProc = `127.0.0.1:${stack.serving.extProcPort}`;
    const asked = run(process.execPath, [PROGRAM, ...command.split(' '), '--admin', extProc]);
    await expect(asked).rejects.toThrow(/is it the --extproc-port, .*give .*--metrics-port/);
  },
);

it('[O360] doctor names a port that does not answer among what it finds, and looks at the rest', async () => {
  const nowhere = ['--envoy', '127.0.0.1:9', '--admin', stack.admin, '--certificate', 'none.pem'];
  const failed = await run(process.execPath, [PROGRAM, 'doctor', ...nowhere]).then(
    () => undefined,
    (error: { readonly code: number; readonly stdout: string }) => error,
  );
  expect(failed?.code).toBe(1);
  expect(failed?.stdout).toMatch(/^ERROR no-answer: 127\.0\.0\.1:9\n .*give Envoy’s admin port/m);
  expect(failed?.stdout).toMatch(/^ERROR certificate: certificate none.pem/m);
  expect(failed?.stdout).toMatch(
    /^looked at picker at .* with 4 endpoints; certificate none.pem: /m,
  );
});
