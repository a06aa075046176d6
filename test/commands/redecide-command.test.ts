import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { exampleOrSkip, startScheduler } from '../../bench/support/example-schedulers.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { NAMED_CONFIGS } from '../../src/config/defaults.ts';
import { loadConfig } from '../../src/config/load.ts';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../src/framework/routing.ts';
import { CaptureWriter } from '../../src/journal/capture/capture-writer.ts';
import { startCapture } from '../../src/journal/capture/start-capture.ts';
import { chainBlockIds } from '../../src/openai/prompts/chain-block-ids.ts';
import { EndpointPicker } from '../../src/picker/endpoint-picker.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { makeRequest } from '../makers.ts';
import { PROGRAM } from '../support/programs/program.ts';
import { RunsInTurn } from '../support/programs/runs-in-turn.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-redecide-'));
afterAll(() => rmSync(folder, { recursive: true }));
const runs = new RunsInTurn();
afterAll(() => runs.stop());
const command = await exampleOrSkip('typescript');

const REQUESTS = 200;
const ENDPOINTS = ['a', 'b', 'c', 'd'];

/** One run of a picker that captures, with some requests always in flight. */
async function run(config: string, seed: number): Promise<void> {
  const clock = new SimulatedClock();
  const plan = loadConfig({
    text: NAMED_CONFIGS.get(config) ?? '',
    source: config,
    catalogue: EMBEDDED_CATALOGUE,
  });
  const network = { get: () => Promise.reject(new Error('none')) };
  const runtime = { clock, random: seededRandom(seed), network };
  const { picker, capture: recorder } = startCapture(
    { plan, seed },
    (subscriber) => new EndpointPicker({ plan, runtime, subscribers: [subscriber] }),
  );
  const writer = new CaptureWriter({
    folder: join(folder, 'capture'),
    fileBytesMax: 1000,
    totalBytesMax: 1e9,
    drain: () => recorder.drain(),
    head: (file) => recorder.head(file, file === 0 ? [] : picker.pool.snapshot()),
    onFailed: (reason) => expect.fail(reason),
  });
  recorder.listen(writer.write);
  for (const id of ENDPOINTS) {
    picker.pool.upsert({ id: id as EndpointId, address: `${id}:1`, labels: new Map() });
  }
  const random = seededRandom(seed).fork('traffic');
  const open: RoutedRequest[] = [];
  for (let n = 0; n < REQUESTS; n++) {
    // Time passes only between events.
    clock.setTimer(5, () => undefined);
    clock.step();
    const blocks = Array.from({ length: 8 }, (_, at) => (at < 6 ? `${n % 7}-${at}` : `${n}-${at}`));
    const prompt = chainBlockIds(blocks, { seedText: 'm', blockTokens: 64 });
    open.push(picker.route(makeRequest({ id: `r${n}`, promptTokens: 512, prompt })));
    while (open.length > 6) {
      open.splice(Math.floor(random.next() * open.length), 1)[0]?.done('completed');
    }
    if (n % 20 === 19) await writer.flush();
  }
  picker.stop();
  await writer.close();
}

await run('round-robin', 1);
await run('random', 2);
const capture = join(folder, 'capture');

interface Printed {
  readonly runs: number;
  readonly decisions: number;
  readonly identical: number;
  readonly warnings: readonly string[];
  readonly scheduler?: string;
  readonly undecided?: number;
  readonly declined?: Readonly<Record<string, number>>;
  readonly endpoints: Readonly<Record<string, { readonly was: number; readonly is: number }>>;
  readonly differing: readonly { readonly is: { readonly by?: string } }[];
}

function configured(name: string, scheduler: string): string {
  const path = join(folder, name);
  writeFileSync(
    path,
    `apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\nscheduler: ${scheduler}\n`,
  );
  return path;
}

/** Exit code 1 says that decisions differ. */
async function redecided(captured: string, ...args: readonly string[]): Promise<Printed> {
  const { code, stdout, stderr } = await runs.run(['redecide', captured, '--json', ...args]);
  expect([0, 1], stderr).toContain(code);
  return JSON.parse(stdout) as Printed;
}

// Each test starts processes, on machines that may be busy.
describe('pointsman redecide', () => {
  it.each([
    ['"seed":1', '"seed":"x"', /damaged\.jsonl:1:\s+record\.seed: /],
    ['"config":{', '"config":null,"was":{', /damaged\.jsonl:1:\s+record\.config: /],
    // A line of a trace, given by mistake.
    [
      '"e":"capture",',
      '',
      /damaged\.jsonl:1:\s+record: has no `e`, so the file is no capture: give what `serve --capture` wrote/,
    ],
    ['"e":"capture"', '"e":"captured"', /damaged\.jsonl:1:\s+record: `e` is no kind of record/],
    [/"version":\d+/, '"version":999', /damaged\.jsonl:1:\s+record\.version: .*is later than 3/],
    [/"t":\d+(\.\d+)?,/, '', /damaged\.jsonl:1:\s+record\.t: is missing/],
  ])(
    '[O55] [O480] names file, line and field where %s of the first record is %s',
    async (was, is, message) => {
      const line = { e: 'capture', version: 1, seed: 1, config: {}, wallMs: 5, t: 0, file: 0 };
      const path = join(folder, 'damaged.jsonl');
      const text = `${JSON.stringify(line)}\n`;
      const damaged = text.replace(was, is);
      expect(damaged).not.toBe(text);
      writeFileSync(path, damaged);
      const { code, stderr } = await runs.run(['redecide', path]);
      expect(stderr).toMatch(message);
      expect(stderr).not.toContain('    at ');
      expect(code).toBe(2);
    },
  );

  it('decides each run of a restarted picker by its own configuration, and says how many there are', async () => {
    expect(await redecided(capture)).toMatchObject({
      runs: 2,
      decisions: 2 * REQUESTS,
      identical: 2 * REQUESTS,
    });
    const printed = execFileSync(process.execPath, [PROGRAM, 'redecide', capture], {
      encoding: 'utf8',
    });
    expect(printed).toBe(
      `${2 * REQUESTS} decisions of 2 runs, 100.000 % identical, 0 to another endpoint\n`,
    );
  });

  it('says why another configuration sends requests elsewhere', () => {
    const args = ['redecide', capture, '--config', 'reference-default', '--show', '500'];
    const printed = execFileSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
    expect(printed).toMatch(/ is number [2-4] of 4 with [\d.]+: prefix-cache-scorer −[\d.]+\n/);
    expect(printed).toMatch(
      / is number 1 of 4 with [\d.]+, too: the picker chose among equal scores\n/,
    );
  });

  it('finds the pool where the first files are missing, and warns of it', async () => {
    const rest = join(folder, 'rest');
    cpSync(capture, rest, { recursive: true });
    const names = readdirSync(rest).sort();
    expect(names.length).toBeGreaterThan(3);
    rmSync(join(rest, names[0] ?? ''));
    const { decisions, identical, warnings, endpoints } = await redecided(rest);
    expect(warnings).toEqual([
      expect.stringContaining('1 file of the same run is missing before it'),
    ]);
    expect(decisions).toBeGreaterThan(REQUESTS);
    expect(Object.keys(endpoints).sort()).toEqual(ENDPOINTS);
    // Only the first file had the position of round robin; the second run is complete.
    expect(identical).toBeGreaterThanOrEqual(REQUESTS);
  });

  it.skipIf(command === undefined)(
    'asks a scheduler in another process about each request, and counts apart what that leaves',
    async () => {
      const scheduler = await startScheduler(command ?? []);
      const { address } = scheduler;
      const config = configured(
        'remote.yaml',
        `{type: remote, address: '${address}', deadlineMs: 1000, maxNumOfEndpoints: 4}`,
      );
      try {
        const printed = await redecided(capture, '--config', config, '--show', '1000');
        const { undecided, declined, decisions, differing, endpoints } = printed;
        expect(printed).toMatchObject({ runs: 2, scheduler: 'least-loaded-ts' });
        expect({ undecided, declined, decisions }).toEqual({
          undecided: 0,
          declined: {},
          decisions: 2 * REQUESTS,
        });
        expect(differing.length).toBeGreaterThan(REQUESTS / 2);
        expect(differing.every(({ is }) => is.by === 'least-loaded-ts')).toBe(true);
        // It gets what really became of requests, and picks the endpoint with the fewest in
        // flight.
        for (const id of ENDPOINTS) expect(endpoints[id]?.is).toBeGreaterThan(REQUESTS / 10);
        const run = promisify(execFile);
        const args = [PROGRAM, 'redecide', capture, '--config', config];
        const { stdout } = await run(process.execPath, args);
        expect(stdout).toMatch(/ is number [2-4] of 4 with -\d/);
      } finally {
        await scheduler.stop();
      }
    },
  );

  it('explains in one sentence that a scheduler in another process does not answer', () => {
    const config = configured('nobody.yaml', "{type: remote, address: 'unix:/nowhere/socket'}");
    const args = ['redecide', capture, '--config', config];
    const { status, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], {
      encoding: 'utf8',
    });
    expect(status).toBe(2);
    expect(stderr).toContain('unix:/nowhere/socket has not accepted a connection within 5000 ms');
    expect(stderr).not.toContain('    at ');
  });

  it('[G295] takes schedulers from modules, by their types, and counts separately what they decline', async () => {
    const doc = readFileSync(join(root, 'docs/schedulers.md'), 'utf8');
    const code = /```ts\n(.*?)```/s.exec(doc)?.[1] ?? '';
    // In this folder, so that `pointsman` and `zod` are found.
    const home = mkdtempSync(join(root, 'test', 'module-'));
    try {
      const path = join(home, 'first.ts');
      const fussy = code
        .replace("'pointsman'", "'../../src/index.ts'")
        .replace('([endpoint])', '([endpoint], { request })')
        .replace('endpoint === undefined', "endpoint === undefined || request.id.endsWith('7')");
      expect(fussy).toContain('endsWith');
      writeFileSync(path, fussy);
      const config = configured('module.yaml', '{type: first-endpoint}');
      const printed = await redecided(capture, '--config', config, '--plugin', path);
      expect(printed).toMatchObject({
        runs: 2,
        scheduler: 'first-endpoint',
        decisions: 1.8 * REQUESTS,
        undecided: 0.2 * REQUESTS,
        declined: { 'no-endpoint': 0.2 * REQUESTS },
      });
      expect(printed.endpoints['a']?.is).toBe(1.8 * REQUESTS);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
