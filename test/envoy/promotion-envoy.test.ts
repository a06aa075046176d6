import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { planFromPlugins } from '../../src/catalogue/plan.ts';
import { readToken } from '../../src/files/following/token-file.ts';
import type { PickerPlan } from '../../src/picker/plan/picker-plan.ts';
import { CANARY_HEADER } from '../../src/promotion/canary.ts';
import type { PromotionStatus } from '../../src/promotion/promotion.ts';
import { promotionRule } from '../../src/promotion/promotion-rule.ts';
import { shadowFrom } from '../../src/shadow/shadow-data.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { isLong } from '../support/long-runs.ts';

const binary = await envoyBinary();
const fixtures = join(import.meta.dirname, '../fixtures/schedulers');
const plugins = [join(fixtures, 'misbehaving.mjs')];
const crashing = join(fixtures, 'crashing.yaml');
const STUB = { port: 0, speed: 10, model: 'm' };
const LIMIT_MS = 300_000;
/**
 * A step of the slow server takes longer by this while its answers must be certainly later. Without
 * it they come 20 ms later, which cannot be told from what a busy machine adds to all of them.
 */
const FACTOR = 100;
/**
 * The interval that a promotion by rule waits for needs so many decisions, which are made in `npm
 * run test:long`.
 */
const DECISIONS = 5000;

describe.skipIf(binary === undefined)('promotion, behind a real Envoy', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-promotion-'));
  /** Sends all requests to the one slow server. */
  const slowest = join(folder, 'slowest.yaml');
  const adminTokenFile = join(folder, 'token');
  let pool: StubPool;
  let slow: StubPool;
  let stack: Stack;
  const failures: string[] = [];
  const servedBy: string[] = [];

  beforeAll(async () => {
    pool = await startStubPool(stubOptions.parse({ ...STUB, count: 3 }));
    slow = await startStubPool(stubOptions.parse({ ...STUB, count: 1, slowdown: 20 }));
    const addresses = [...pool.endpoints, ...slow.endpoints].map(({ address }) => address);
    const parameters = { address: addresses.at(-1) };
    const kind = { apiVersion: 'llm-d.ai/v1alpha1', kind: 'EndpointPickerConfig' };
    const config = { ...kind, plugins: [{ type: 'one-endpoint-scorer', parameters }] };
    writeFileSync(slowest, JSON.stringify(config));
    const names = ['default', crashing, slowest];
    const plans = new Map<string, PickerPlan>();
    for (const name of names) plans.set(name, await planFromPlugins(name, plugins));
    const rule = promotionRule.parse({
      shadow: 'default',
      promote: { decisions: DECISIONS, stepsPercent: [20, 50], stepRequests: 100 },
      demote: { requests: 30 },
    });
    stack = await startStack(binary ?? '', {
      envoy: 'envoy',
      endpoints: addresses,
      config: 'random',
      serve: {
        trustClientControls: true,
        seed: 3,
        shadows: names.map((name) => shadowFrom(name, { plugins })),
        promotion: { rule, plans },
        adminTokenFile,
      },
    });
  });
  afterAll(async () => {
    await stack?.stop();
    await pool?.stop();
    await slow?.stop();
    rmSync(folder, { recursive: true });
  });

  const admin = async (path: string, method = 'GET'): Promise<PromotionStatus> => {
    const url = `http://127.0.0.1:${stack.serving.metricsPort}${path}`;
    const headers = { authorization: `Bearer ${readToken('token', adminTokenFile)}` };
    return (await (await fetch(url, { method, headers })).json()) as PromotionStatus;
  };
  const status = (): Promise<PromotionStatus> => admin('/debug/promotion');

  async function post(n: number, headers: Record<string, string> = {}): Promise<string> {
    const prompt = `${`family ${n % 7} `.repeat(200)} ${n}`;
    const response = await fetch(`${stack.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: 'm', prompt, max_tokens: 1, stream: true }),
    });
    const text = await response.text();
    if (response.status !== 200) failures.push(`${response.status} ${text}`);
    return response.headers.get('x-inference-pod') ?? '';
  }

  /** Sends requests, eight at a time, until the condition holds. */
  async function requestsUntil(isSo: () => Promise<boolean>): Promise<void> {
    let over = false;
    let n = 0;
    const client = async (): Promise<void> => {
      for (; !over && n < 200_000; n++) servedBy.push(await post(n));
    };
    const clients = Promise.all(Array.from({ length: 8 }, client));
    try {
      await eventually(isSo, (so) => so, 10_000);
    } finally {
      over = true;
      await clients;
    }
  }

  it.each(isLong ? [DECISIONS] : [])(
    'by rule begins when a shadow is certainly better over %i decisions, and continues step by step',
    async () => {
      await requestsUntil(async () => (await status()).percent === 50);
      const { events } = await status();
      expect(events.map(({ what, percent, by }) => [what, percent, by])).toEqual([
        ['promoted', 20, 'rule'],
        ['promoted', 50, 'rule'],
      ]);
      expect(events[0]?.why).toMatch(
        /% better \(95 % interval .*over [\d,]+ decisions, without a fault/,
      );
    },
    LIMIT_MS,
  );

  it('[V70] by hand gives a shadow its share of requests, and takes it back', async () => {
    await admin(`/promote?shadow=${encodeURIComponent(slowest)}&percent=0`, 'POST');
    const asked = await Promise.all(
      Array.from({ length: 20 }, (_, n) => post(n, { [CANARY_HEADER]: 'challenger' })),
    );
    expect(failures).toEqual([]);
    expect(new Set(asked).size).toBe(1);
    await admin('/promote?shadow=mistyped&percent=30', 'POST');
    expect((await status()).shadow).toBe(slowest);
    const { shadow, percent, automatic } = await admin('/demote', 'POST');
    expect([shadow, percent, automatic]).toEqual([undefined, 0, false]);
  });

  it('ends when the scheduler throws, and the configuration in charge decides the request', async () => {
    await admin(`/promote?shadow=${encodeURIComponent(crashing)}&percent=100`, 'POST');
    await requestsUntil(async () => (await status()).shadow === undefined);
    expect((await status()).events.at(-1)).toMatchObject({
      what: 'demoted',
      by: 'rule',
      why: 'its scheduler threw: broken on purpose',
    });
  });

  it(
    'ends when the shadow answers later',
    async () => {
      await admin(`/promote?shadow=${encodeURIComponent(slowest)}&percent=50`, 'POST');
      await fetch(`http://${slow.endpoints[0]?.address ?? ''}/stub/faults`, {
        method: 'POST',
        body: JSON.stringify({ kind: 'slow', factor: FACTOR }),
      });
      await requestsUntil(async () => (await status()).shadow === undefined);
      expect((await status()).events.at(-1)?.why).toMatch(/it answers after [\d,]+ ms on average/);
    },
    LIMIT_MS,
  );

  it('explains what is wrong with a request to the admin port', async () => {
    const refusal = async (path: string): Promise<unknown> =>
      ((await admin(path, 'POST')) as unknown as { error: string }).error;
    expect(await refusal('/promote?shadow=nobody&percent=5')).toMatch(
      /nobody is not a shadow .* default/,
    );
    expect(await refusal('/promote')).toMatch(/shadow is missing/);
    expect(await refusal('/promote?shadow=default&percent=101')).toMatch(
      /101; it must be .* 0 to 100/,
    );
  });

  it('fails no request', () => {
    expect(failures).toEqual([]);
    expect(servedBy.length).toBeGreaterThan(isLong ? DECISIONS : 50);
  });
});
