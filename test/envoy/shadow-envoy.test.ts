import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  exampleOrSkip,
  type RunningScheduler,
  startScheduler,
} from '../../bench/support/example-schedulers.ts';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { shadowTable } from '../../src/commands/output/shadow-table.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { redecide } from '../../src/redecide/redecide.ts';
import { sameDecision } from '../../src/redecide/redecision.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { shadowFrom } from '../../src/shadow/shadow-data.ts';
import type { ShadowStatus } from '../../src/shadow/start-shadow.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';
import { isLong } from '../support/long-runs.ts';
import { PROGRAM } from '../support/programs/program.ts';

const binary = await envoyBinary();
const fixtures = join(import.meta.dirname, '../fixtures/schedulers');
const MISBEHAVING = ['crashing', 'hanging', 'nonsense'].map((name) =>
  join(fixtures, `${name}.yaml`),
);
/** With `npm run test:long` it is the number that the specification names. */
const REQUESTS = isLong ? 100_000 : 1200;
/** Against a set-up that hangs: one that loads eight pickers may take minutes on a busy machine. */
const LIMIT_MS = REQUESTS * 20 + 600_000;
const LOAD_ATTEMPTS = 16_000;
const GARBAGE = [process.execPath, join(fixtures, 'garbage.mjs')];

describe.skipIf(binary === undefined)('shadows beside a picker behind a real Envoy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-shadow-'));
  let pool: StubPool;
  let stack: Stack;
  const remote: RunningScheduler[] = [];
  /** By name, before the first request: on a busy machine some are started again while they load. */
  let loaded: ReadonlyMap<string, ShadowStatus>;
  const remoteConfig = join(folder, 'remote.yaml');
  const garbageConfig = join(folder, 'garbage.yaml');

  async function startRemote(
    command: readonly string[],
    config: string,
    deadlineMs: number,
  ): Promise<void> {
    const running = await startScheduler(command);
    remote.push(running);
    const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
    const scheduler = { type: 'remote', address: running.address, deadlineMs };
    writeFileSync(config, JSON.stringify({ ...kind, scheduler }));
  }

  beforeAll(async () => {
    pool = await startStubPool(stubOptions.parse({ count: 6, port: 0, speed: 10, model: 'm' }));
    await startRemote((await exampleOrSkip('typescript')) ?? [], remoteConfig, 1000);
    // Some of its requests stay without an answer.
    await startRemote(GARBAGE, garbageConfig, 250);
    const own = [...MISBEHAVING, remoteConfig, garbageConfig];
    const plugins = [join(fixtures, 'misbehaving.mjs')];
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: pool.endpoints.map(({ address }) => address),
      serve: {
        seed: 3,
        capture: { folder: join(folder, 'capture'), bytesMax: 1e9 },
        shadowLog: { path: join(folder, 'shadows.jsonl'), bytesMax: 1e9 },
        shadows: ['default', 'random', 'reference-default', ...own].map((name) =>
          shadowFrom(name, { plugins }),
        ),
      },
    });
    // Loading eight pickers occupies a small machine: requests start afterwards.
    await eventually(
      async () => (await shadows()).filter(({ parity }) => parity !== undefined).length,
      (count) => count === 3 + own.length,
      LOAD_ATTEMPTS,
    );
    // A shadow waits for its scheduler when it starts, and then reports it under its own name.
    for (const [config, name] of [
      [remoteConfig, 'least-loaded-ts'],
      [garbageConfig, 'garbage'],
    ] as const) {
      await eventually(
        () => named(config),
        (status) => status?.parity?.replacement?.name === name,
      );
    }
    loaded = new Map((await shadows()).map((status) => [status.name, status]));
    let sent = 0;
    const client = async (): Promise<void> => {
      while (sent < REQUESTS) {
        const n = sent++;
        const prompt = `${`family ${n % 5} `.repeat(60)} ${n}`;
        const body = JSON.stringify({ model: 'm', prompt, max_tokens: 2, stream: n % 2 === 0 });
        const response = await fetch(`${stack.url}/v1/completions`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body,
        });
        expect([response.status, await response.text()]).toEqual([200, expect.any(String)]);
      }
    };
    await Promise.all(Array.from({ length: 16 }, client));
  }, LIMIT_MS);
  afterAll(async () => {
    await stack?.stop();
    await pool?.stop();
    for (const running of remote) await running.stop();
    rmSync(folder, { recursive: true });
  });

  const shadows = async (): Promise<readonly ShadowStatus[]> => {
    const url = `http://127.0.0.1:${stack.serving.metricsPort}/debug/shadows`;
    return ((await (await fetch(url)).json()) as { shadows: readonly ShadowStatus[] }).shadows;
  };
  const named = async (name: string): Promise<ShadowStatus | undefined> =>
    (await shadows()).find((shadow) => shadow.name === name);

  it('the same configuration agrees in every decision', async () => {
    const shadow = await eventually(
      () => named('default'),
      (status) => (status?.parity?.all.decisions ?? 0) >= REQUESTS,
    );
    expect(shadow?.parity?.all.agreed).toBe(REQUESTS);
    const { restarts, dropped } = loaded.get('default') ?? {};
    expect(shadow).toMatchObject({ running: true, restarts, dropped });
    expect(Object.keys(shadow?.parity?.kinds ?? {})).toContain('model m');
  });

  it('another one differs, and its picks are predicted to answer later', async () => {
    const shadow = await eventually(
      () => named('random'),
      (status) => (status?.parity?.all.decisions ?? 0) >= REQUESTS,
    );
    const { decisions = 0, agreed = 0 } = shadow?.parity?.all ?? {};
    expect(agreed / decisions).toBeLessThan(0.5);
    const reference = await named('reference-default');
    expect(reference?.parity?.all.predicted).toBeGreaterThan(0);
  });

  it('predicted first tokens are compared with observed ones', async () => {
    const streamed = REQUESTS / 2;
    const shadow = await eventually(
      () => named('default'),
      (status) => status?.parity?.all.calibration.firstTokens === streamed,
    );
    const { parity } = shadow ?? {};
    expect(parity?.all.calibration.observedMs).toBeGreaterThan(0);
    const rows = parity?.calibration ?? [];
    expect(rows.reduce((sum, row) => sum + row.firstTokens, 0)).toBe(streamed);
    expect(parity?.all.placed[0]).toBe(REQUESTS);
  });

  it('each decision of each shadow is a line of the log', async () => {
    const lines = await eventually(
      () =>
        readFileSync(join(folder, 'shadows.jsonl'), 'utf8')
          .split('\n')
          .filter((line) => line.includes('"shadow":"random"')),
      ({ length }) => length >= REQUESTS,
    );
    const agreed = lines.filter((line) => (JSON.parse(line) as { agrees: boolean }).agrees);
    expect(lines).toHaveLength(REQUESTS);
    expect(agreed).toHaveLength((await named('random'))?.parity?.all.agreed ?? Number.NaN);
  });

  it('`shadow report` writes a self-contained page', async () => {
    const page = join(folder, 'shadows.html');
    const admin = `--admin=http://127.0.0.1:${stack.serving.metricsPort}`;
    await promisify(execFile)(process.execPath, [PROGRAM, 'shadow', 'report', page, admin]);
    const html = readFileSync(page, 'utf8');
    expect(html.match(/<figure>/g)).toHaveLength(2);
    expect(html).toContain('reference-default');
    const references = html
      .replace(/http:\/\/www\.w3\.org\/[\w/]+/g, '')
      .replaceAll(admin.slice(8), '');
    expect(references).not.toMatch(/https?:|<script|<link|src=|NaN|undefined/);
  });

  it('one in another process is asked, and its answers are compared', async () => {
    const shadow = await eventually(
      () => named(remoteConfig),
      // On a busy machine the breaker leaves it out for a while.
      (status) => (status?.parity?.all.decisions ?? 0) > 10,
    );
    expect(shadow?.parity?.replacement).toMatchObject({ name: 'least-loaded-ts' });
    expect(shadow?.restarts).toBe(loaded.get(remoteConfig)?.restarts);
  });

  it('one that sometimes gives invalid answers counts these as undecided', async () => {
    const shadow = await eventually(
      () => named(garbageConfig),
      (status) => {
        const { name, undecided = 0 } = status?.parity?.replacement ?? {};
        // It has its own name once it is connected.
        return name === 'garbage' && undecided > 10;
      },
    );
    expect(shadow?.parity?.replacement?.name).toBe('garbage');
  });

  it('those that crash or give invalid answers are restarted, without other effects', async () => {
    const [crashing = '', , nonsense = ''] = MISBEHAVING;
    await eventually(
      async () => [await named(crashing), await named(nonsense)],
      (both) => both.every((status) => (status?.restarts ?? 0) > 0),
    );
  });

  it('decisions are those that would have been made without shadows', async (context) => {
    await stack.stop();
    const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom };
    let decisions = 0;
    let same = 0;
    for await (const { was, is } of redecide(
      readCapture(join(folder, 'capture')).records,
      options,
    )) {
      decisions += 1;
      if (sameDecision(was, is)) same += 1;
    }
    tellFigure(context, {
      what: `${decisions} live decisions with eight shadows, two in other processes, of which four crash, hang or answer nonsense`,
      promised: 'those without any',
      measured: `${same} the same`,
    });
    expect([decisions, same]).toEqual([REQUESTS, REQUESTS]);
  });
});

describe('shadow top', () => {
  it('prints a line for each shadow and kind', () => {
    const calibration = {
      firstTokens: 10,
      predictedMs: 200,
      observedMs: 300,
      absoluteErrorMs: 120,
    };
    const all = {
      decisions: 200,
      agreed: 150,
      disputed: 0,
      placed: [150, 20, 10, 5, 5],
      predicted: 100,
      primaryTtftMs: 5000,
      shadowTtftMs: 4000,
      bestTtftMs: 3800,
      calibration,
    };
    const gain = { decisions: 100, percent: 20, meanMs: 10, lowPercent: 15, highPercent: 25 };
    const parity = { all, kinds: { 'model m': all }, calibration: [], gain, ownDecisions: 30 };
    const status = {
      name: 'mine.yaml',
      running: false,
      parity,
      restarts: 2,
      dropped: 7,
      waiting: 0,
    };
    const [, line, own, kind] = shadowTable([status]).split('\n');
    expect(line?.split(/\s{2,}/)).toEqual([
      'mine.yaml (down)',
      '200',
      '75.0 %',
      '75.0 %',
      '90.0 %',
      '-10.0 ms, -20.0 % (-25.0 to -15.0 %)',
      '2.0 ms',
      '1.50',
      '2',
      '7',
      '0',
    ]);
    expect(own).toBe('  decided by itself 30, not compared');
    expect(kind).toContain('model m');
  });
});
