import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { envoyBinary, startStack } from '../../bench/support/stack.ts';
import { EMBEDDED_CATALOGUE } from '../../src/catalogue/built-in-catalogue.ts';
import { readCapture } from '../../src/journal/capture/read-capture.ts';
import { readTrace } from '../../src/lab/traces/reading/read-trace.ts';
import { redecide } from '../../src/redecide/redecide.ts';
import { sameDecision } from '../../src/redecide/redecision.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { startStubPool } from '../../stub-server/pool.ts';
import { tellFigure } from '../support/figure.ts';
import { isLong } from '../support/long-runs.ts';
import { PROGRAM } from '../support/programs/program.ts';

const binary = await envoyBinary();
const folder = mkdtempSync(join(tmpdir(), 'pointsman-capture-'));
afterAll(() => rmSync(folder, { recursive: true }));

const options = { catalogue: EMBEDDED_CATALOGUE, randomOf: seededRandom };
const SECRET = 'the words that nobody may find';
/** `npm run test:long` makes the long run with the promised figure. */
const REQUESTS = isLong ? 100_000 : 1500;

const BY_SESSION = `apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins:
- type: session-affinity-scorer
  parameters: {strategy: session_id}
- type: queue-scorer
schedulingProfiles:
- name: default
  plugins: [{pluginRef: session-affinity-scorer, weight: 3}, {pluginRef: queue-scorer, weight: 1}]
`;

describe.skipIf(binary === undefined)('a capture of traffic through a real Envoy', () => {
  const files = (): readonly string[] => readdirSync(folder).map((name) => join(folder, name));

  it('reproduces every live decision to the last bit', { timeout: 1_200_000 }, async (context) => {
    const pool = await startStubPool(
      stubOptions.parse({ count: 8, port: 0, speed: 10, model: 'm', preset: 'llama-3.1-8b-h100' }),
    );
    const stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: pool.endpoints.map(({ address }) => address),
      serve: { capture: { folder, bytesMax: 1e9 }, seed: 5 },
    });
    try {
      let sent = 0;
      const client = async (): Promise<void> => {
        while (sent < REQUESTS) {
          const n = sent++;
          const prompt = `${`family ${n % 7} `.repeat(80)}${SECRET} ${n} `.repeat(1 + (n % 3));
          const body = { model: 'm', prompt, max_tokens: 3, stream: n % 2 === 0 };
          const response = await fetch(`${stack.url}/v1/completions`, {
            method: 'POST',
            headers: {
              'content-type': 'application/json',
              'x-gateway-inference-fairness-id': 'acme',
            },
            body: JSON.stringify(body),
          });
          await response.text();
        }
      };
      await Promise.all(Array.from({ length: 40 }, client));
    } finally {
      await stack.stop();
      await pool.stop();
    }
    const { records, warnings } = readCapture(folder);
    let decisions = 0;
    const changed: unknown[] = [];
    for await (const each of redecide(records, options)) {
      decisions += 1;
      if (!sameDecision(each.was, each.is)) changed.push(each);
    }
    const bytes = files().reduce((sum, file) => sum + statSync(file).size, 0) / decisions;
    tellFigure(context, {
      what: `${decisions} live decisions decided again`,
      promised: '100.000 % identical, < 200 bytes each',
      measured: `${((100 * (decisions - changed.length)) / decisions).toFixed(3)} %, ${bytes.toFixed(0)} bytes`,
    });
    expect(changed).toEqual([]);
    expect(decisions).toBe(REQUESTS);
    expect(warnings).toEqual([]);
    expect(bytes).toBeLessThan(200);
  });

  it('is a trace of the same requests, with the servers’ token counts and outcomes, and can be simulated', () => {
    const { requests, repaired } = readTrace(folder, { lenient: false });
    expect(requests).toHaveLength(REQUESTS);
    expect(repaired).toBe(0);
    expect(requests.every(({ outputTokens }) => outputTokens <= 3)).toBe(true);
    expect(
      requests.every(({ model, seen }) => model === 'm' && seen?.outcome === 'completed'),
    ).toBe(true);
    const pool = join(folder, 'pool.yaml');
    writeFileSync(pool, 'servers:\n  - { count: 2, preset: llama-3.1-8b-h100 }\n');
    const args = ['simulate', '--trace', folder, '--pool', pool, '--config', 'default', '--json'];
    const printed = execFileSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
    rmSync(pool);
    const { trace, results } = JSON.parse(printed) as {
      readonly trace: object;
      readonly results: readonly { readonly summary: { readonly hitRate: number } }[];
    };
    // Half of the requests are streams whose clients did not ask for usage.
    const guessed = `${REQUESTS / 2} answers whose tokens no server reported: guessed from the others`;
    expect(trace).toMatchObject({ requests: REQUESTS, repaired: 0, notes: [guessed] });
    // Prompts of each of the seven families share a prefix.
    expect(results[0]?.summary.hitRate).toBeGreaterThan(0.3);
  });

  it('contains neither text nor the identity of clients', () => {
    const { records } = readCapture(folder);
    const text = [...records].map((record) => JSON.stringify(record)).join('\n');
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain('acme');
    expect(text).not.toContain('family');
  });

  it('is read up to the place where a crash has cut it off, with a message', () => {
    const [file = ''] = files();
    const whole = readFileSync(file);
    truncateSync(file, whole.length - 20);
    const cut = readCapture(file);
    expect([...cut.records].length).toBeGreaterThan(0);
    expect(cut.warnings.join()).toContain('cut off');
    writeFileSync(file, whole);
  });

  it('is refused with the place of the damage', () => {
    const [file = ''] = files();
    const whole = readFileSync(file);
    appendFileSync(file, 'no zstd');
    expect(() => [...readCapture(file).records]).toThrow(/byte \d+: damaged zstd data/);
    writeFileSync(file, whole);
    expect(() => readCapture(join(folder, 'nowhere'))).toThrow(/is not there/);
  });

  it('reproduces the decisions of both runs of a restarted picker, also those by headers', async () => {
    const restarted = mkdtempSync(join(tmpdir(), 'pointsman-restarted-'));
    const config = join(restarted, 'sessions.yaml');
    const captured = join(restarted, 'capture');
    writeFileSync(config, BY_SESSION);
    const pool = await startStubPool(
      stubOptions.parse({ count: 4, port: 0, speed: 10, model: 'm', preset: 'llama-3.1-8b-h100' }),
    );
    try {
      for (const seed of [5, 6]) {
        const stack = await startStack(binary ?? '', {
          envoy: 'envoy',
          config,
          endpoints: pool.endpoints.map(({ address }) => address),
          serve: { capture: { folder: captured, bytesMax: 1e9 }, seed },
        });
        const ask = async (_: unknown, n: number): Promise<string> => {
          const headers = {
            'content-type': 'application/json',
            'x-session-id': `session ${n % 9}`,
          };
          const body = JSON.stringify({ model: 'm', prompt: `prompt ${n}`, max_tokens: 2 });
          const url = `${stack.url}/v1/completions`;
          return (await fetch(url, { method: 'POST', headers, body })).text();
        };
        for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 20 }, ask));
        await stack.stop();
      }
      const { records, warnings } = readCapture(captured);
      const all = [...records];
      const runs: number[] = [];
      for await (const { run, was, is } of redecide(all, options)) {
        runs.push(run);
        expect(sameDecision(was, is)).toBe(true);
      }
      expect(runs).toEqual([...Array(200).fill(1), ...Array(200).fill(2)]);
      expect(warnings).toEqual([]);
      // Without the headers the request would have gone elsewhere.
      const headless = all.map((each) =>
        each.e === 'q' ? { ...each, r: { ...each.r, headers: {} } } : each,
      );
      let elsewhere = 0;
      for await (const { was, is } of redecide(headless, options)) {
        if (!sameDecision(was, is)) elsewhere += 1;
      }
      expect(elsewhere).toBeGreaterThan(100);
      expect(JSON.stringify(all)).not.toMatch(/session \d/);
    } finally {
      await pool.stop();
      rmSync(restarted, { recursive: true });
    }
  });
});
