import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { getPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { makeRequest } from '../../test/makers.ts';
import { newAuthority } from '../../test/support/servers/certificates.ts';
import { EMBEDDED_CATALOGUE } from '../catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig } from '../config/load.ts';
import type { EndpointId } from '../framework/endpoint.ts';
import { startCapture } from '../journal/capture/start-capture.ts';
import { EndpointPicker } from '../picker/endpoint-picker.ts';
import { nodeClock } from '../runtime/clock/node-clock.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { createLog, type Log } from '../runtime/log/log.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { shadowFrom } from './shadow-data.ts';
import { type Shadow, startShadow } from './start-shadow.ts';

/** A thread of the lowest priority may take minutes to load on a busy machine. */
const BEGIN_ATTEMPTS = 10_000;

let shadow: Shadow | undefined;
afterEach(async () => {
  await shadow?.stop();
});

/** The lines of a capture of this many requests, of some 2 KB each, and those to begin with. */
function capturedLines(
  requests: number,
  shadowConfigs: readonly string[] = [],
): { readonly initialRecords: Uint8Array; readonly lines: readonly Uint8Array[] } {
  const catalogue = EMBEDDED_CATALOGUE;
  const [plan, ...shadows] = [NAMED_CONFIGS.get('random') ?? '', ...shadowConfigs].map((text) =>
    loadConfig({ text, source: 'test', catalogue }),
  );
  if (plan === undefined) throw new Error('no plan');
  const network = { get: () => Promise.reject(new Error('none')) };
  const runtime = { clock: new SimulatedClock(), random: seededRandom(1), network };
  const { picker, capture } = startCapture(
    { plan, shadows, seed: 1 },
    (recorder) => new EndpointPicker({ plan, runtime, subscribers: [recorder] }),
  );
  for (const id of ['a', 'b']) {
    picker.pool.upsert({
      id: id as EndpointId,
      address: `${id}:1`,
      labels: new Map([['zone', id]]),
    });
  }
  const initialRecords = capture.begin(picker.pool.snapshot());
  const texts: string[] = [];
  capture.listen((lines) => void texts.push(textOf(lines)));
  for (let n = 0; n < requests; n++) {
    const headers = new Map([
      ['x-zone', n % 3 === 0 ? 'a' : 'b'],
      ['authorization', 'a key'],
    ]);
    const request = makeRequest({ id: `r${n}`, objective: 'long '.repeat(400), headers });
    picker.route(request).done('completed');
  }
  picker.stop();
  capture.drain();
  const lines = texts.join('').trimEnd().split('\n');
  return { initialRecords, lines: lines.map((line) => new TextEncoder().encode(`${line}\n`)) };
}

function textOf(lines: Uint8Array): string {
  return new TextDecoder().decode(lines);
}

it('receives a large batch in pieces, and answers each', async () => {
  const REQUESTS = 1500;
  const { initialRecords, lines } = capturedLines(REQUESTS);
  const pieces: number[] = [];
  let seen = 0;
  const all = new Promise<void>((resolve) => {
    shadow = startShadow({
      ...shadowFrom('random'),
      name: 'random',
      initialRecords: () => initialRecords,
      clock: nodeClock(),
      log: createLog('silent'),
      onDecisions: (text) => {
        const decided = text.split('\n').filter((line) => line !== '');
        for (const line of decided) expect((JSON.parse(line) as { n: number }).n).toBe(seen++);
        pieces.push(decided.length);
        if (seen === REQUESTS) resolve();
      },
    });
  });
  // On a busy machine it may be started again while it loads, and would not get what came before.
  const begun = await eventually(
    () => shadow?.status(),
    (status) => status?.parity !== undefined,
    BEGIN_ATTEMPTS,
  );
  for (const line of lines) shadow?.receive(line, 1);
  await all;
  // 3 MB in pieces of half a megabyte: one answer to everything might come too late and look like
  // none.
  expect(Math.max(...pieces)).toBeLessThan(300);
  expect(shadow?.status()).toMatchObject({
    restarts: begun?.restarts,
    dropped: begun?.dropped,
  });
  expect(shadow?.status().parity?.all).toMatchObject({ decisions: REQUESTS, agreed: REQUESTS });
});

it('receives the headers that it reads, also where the picker in charge reads none', async () => {
  const config = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- {type: header-label-affinity-scorer, parameters: {headerName: x-zone, labelKey: zone}}
`;
  const requests = 30;
  const { initialRecords, lines } = capturedLines(requests, [config]);
  const decided = await new Promise<readonly string[]>((resolve) => {
    const decisions: string[] = [];
    shadow = startShadow({
      config,
      source: 'zones',
      plugins: [],
      state: 'as-it-happened',
      name: 'zones',
      initialRecords: () => initialRecords,
      clock: nodeClock(),
      log: createLog('silent'),
      // In as many parts as the worker likes.
      onDecisions: (text) => {
        decisions.push(...text.split('\n').filter((line) => line !== ''));
        if (decisions.length >= requests) resolve(decisions);
      },
    });
    for (const line of lines) shadow.receive(line, 1);
  });
  const endpoints = decided.map(
    (line) => (JSON.parse(line) as { is: { endpoint: string } }).is.endpoint,
  );
  expect(endpoints).toEqual(Array.from({ length: requests }, (_, n) => (n % 3 === 0 ? 'a' : 'b')));
  expect(lines.map(textOf).join('')).not.toContain('a key');
});

it('begins with the state at the time when it is ready, if more came before than is kept', async () => {
  const { initialRecords, lines } = capturedLines(9000);
  const later = lines.slice(0, 20);
  const expected = later.filter((line) => textOf(line).includes('"e":"q"')).length;
  let begun = 0;
  let decided = 0;
  await new Promise<void>((resolve) => {
    shadow = startShadow({
      ...shadowFrom('random'),
      name: 'random',
      initialRecords: () => {
        begun += 1;
        return initialRecords;
      },
      clock: nodeClock(),
      log: createLog('silent'),
      onDecisions: (text) => {
        if (text === '' && begun === 2) for (const line of later) shadow?.receive(line, 1);
        // A busy shadow gives them a few at a time.
        decided += text.split('\n').length - 1;
        if (decided >= expected) resolve();
      },
    });
    for (const line of lines) shadow.receive(line, 1);
  });
  expect(decided).toBe(expected);
  expect(shadow?.status()).toMatchObject({ running: true, restarts: 0 });
  expect(shadow?.status().dropped).toBeGreaterThanOrEqual(lines.length);
});

it.runIf(process.platform === 'linux')('leaves the cores to requests', async () => {
  const { initialRecords } = capturedLines(1);
  const before = getPriority();
  await new Promise<void>((resolve) => {
    shadow = startShadow({
      ...shadowFrom('random'),
      name: 'random',
      initialRecords: () => initialRecords,
      clock: nodeClock(),
      log: createLog('silent'),
      onDecisions: () => resolve(),
    });
  });
  const niceness = readdirSync('/proc/self/task').map((thread) => {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8');
    // The 19th field; the second, a name in parentheses, may have spaces in it.
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
  expect(niceness.filter((each) => each === 19)).toHaveLength(1);
  expect(getPriority()).toBe(before);
});

it('[V236] is started again when a plugin has ended its thread, which is counted, and logged with the wait', async () => {
  const { initialRecords } = capturedLines(1);
  const logged: unknown[] = [];
  shadow = startShadow({
    ...shadowFrom('random', {
      plugins: [join(import.meta.dirname, '../../test/support/plugins/exiting-plugin.ts')],
    }),
    name: 'random',
    initialRecords: () => initialRecords,
    clock: nodeClock(),
    log: { warn: (event: object) => void logged.push(event) } as unknown as Log,
  });
  await eventually(
    () => shadow?.status().restarts ?? 0,
    (restarts) => restarts >= 2,
  );
  const ended = { shadow: 'random', reason: 'has ended with code 3' };
  expect(logged.slice(0, 2)).toEqual([
    { ...ended, restartInMs: 1000 },
    { ...ended, restartInMs: 2000 },
  ]);
});

it('[D332] [O236] decides by the default configuration where that of the picker is empty, and ends without a complaint', async () => {
  const { initialRecords, lines } = capturedLines(5);
  const logged: unknown[] = [];
  await new Promise<void>((resolve) => {
    shadow = startShadow({
      ...shadowFrom('serve.yaml', { text: ' \n' }),
      name: 'empty',
      initialRecords: () => initialRecords,
      clock: nodeClock(),
      log: { warn: (event: object) => void logged.push(event) } as unknown as Log,
      onDecisions: (text) => {
        if (text !== '') resolve();
      },
    });
    for (const line of lines) shadow.receive(line, 1);
  });
  await shadow?.stop();
  expect(shadow?.status()).toMatchObject({ restarts: 0 });
  expect(logged).toEqual([]);
});

it('[V599] says which files of TLS its scheduler’s connection cannot use any more', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'shadow-'));
  const caPath = join(folder, 'ca.pem');
  writeFileSync(caPath, String((await newAuthority('a')).cert));
  // It ends each connection, so that the next one reads the file again.
  const server = createServer((socket) => {
    writeFileSync(caPath, 'nothing');
    socket.destroy();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const { initialRecords } = capturedLines(1);
  const refused = await new Promise<object>((onFilesRefused) => {
    shadow = startShadow({
      config: `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
scheduler: {type: remote, address: '127.0.0.1:${port}', tls: {caPath: '${caPath}'}}
`,
      source: 'remote',
      plugins: [],
      state: 'as-it-happened',
      name: 'remote',
      initialRecords: () => initialRecords,
      clock: nodeClock(),
      log: createLog('silent'),
      onFilesRefused,
    });
  });
  expect(refused).toEqual({ caPath });
  server.close();
  rmSync(folder, { recursive: true });
});
