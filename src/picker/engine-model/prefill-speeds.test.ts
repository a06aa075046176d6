import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import { predictedTtftMs } from '../../cost-model/step-time.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { EngineModel } from './engine-model.ts';

type Pool = readonly [decode: Endpoint, fast: Endpoint, slow: Endpoint];

/** How the first tokens of a test come. */
interface Times {
  /** How many times as long as the prior says each of the two prefill servers takes. */
  readonly slowness: readonly [number, number];
  /** The transfer of one token; 0.0066 by default. */
  readonly perTokenMs?: number;
  /** One prompt in so many ms for each prefill server; one that is never late by default. */
  readonly everyMs?: number;
  /** The part of the prompt that the decoder has, for every other prompt; 0.7 by default. */
  readonly held?: number;
  readonly fields?: Partial<Routed>;
}

interface FirstToken {
  readonly routed: Routed;
  readonly at: number;
}

const STEP_MS = 10;
const IDLE = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
const SELDOM_MS = 3000;

/** The model after so many prompts of the decoder's own, and of each prefill server (seed 3). */
function learned(times: Times, prompts = 400) {
  const pool = makePool([{}, {}, {}]) as unknown as Pool;
  const [decode, ...prefillers] = pool;
  const model = new EngineModel();
  const random = seededRandom(3);
  const noise = (): number => 0.95 + 0.1 * random.next();
  const { slowness, perTokenMs = 0.0066, everyMs = SELDOM_MS, held = 0.7, fields } = times;
  const load = { requests: 5, pendingPrefillTokens: 0, contextTokens: 20_000 };
  const freeAt = [0, 0];
  let now = 0;
  let coming: FirstToken[] = [];
  for (let n = 0; n < prompts; n++) {
    now += 2 * everyMs * random.next();
    for (const { routed, at } of coming.filter((each) => each.at <= now)) {
      model.onFirstToken(routed, at);
    }
    coming = coming.filter((each) => each.at > now);
    const promptTokens = Math.round(200 + 6000 * random.next());
    const request = makeRequest({ promptTokens });
    const prompt = { promptTokens, uncachedTokens: promptTokens };
    const own = makeRouted(decode, { request, load, at: now });
    model.onFirstToken(own, now + predictedTtftMs(load, prompt) * noise());
    prefillers.forEach((prefill, index) => {
      const pending = coming.filter(({ routed }) => routed.prefill === prefill);
      const pendingPrefillTokens = pending.reduce((sum, { routed }) => sum + lengthOf(routed), 0);
      const cachedTokens = n % 2 === 0 ? 0 : Math.round(held * promptTokens);
      const prefillLoad = { ...IDLE, requests: pending.length, pendingPrefillTokens };
      const known = { request, load, prefill, prefillLoad, cachedTokens, prefillCachedTokens: 0 };
      const routed = makeRouted(decode, { ...known, expectedTpotMs: STEP_MS, at: now, ...fields });
      model.onRouted(routed);
      const promptMs = (slowness[index] ?? 1) * predictedTtftMs(IDLE, prompt) * noise();
      const doneAt = Math.max(now, freeAt[index] ?? 0) + promptMs;
      freeAt[index] = doneAt;
      const transferMs = perTokenMs * (promptTokens - routed.cachedTokens);
      coming.push({ routed, at: doneAt + transferMs + STEP_MS });
      coming.sort((one, other) => one.at - other.at);
    });
  }
  const speeds = pool.map((endpoint) => model.stepTime(endpoint).perPrefillTokenMs);
  return { model, pool, times: speeds.map((speed) => speed / (speeds[0] as number)) };
}

function lengthOf({ request }: Routed): number {
  return request.promptTokens;
}

/** Half as often as the slower of two such servers could take prompts of the mean length. */
const HALF_BUSY_MS = 2 * 130;

describe('the speed of servers that compute prompts for others', () => {
  it.each([
    [1, 1],
    [1, 3],
    [0.5, 1.5],
    [3, 3],
  ])(
    '[Q339] is learned from first tokens of other servers: %d and %d times as long (seed 3)',
    (...slowness) => {
      const { times } = learned({ slowness });
      slowness.forEach((truth, at) => {
        expect((times[at + 1] as number) / truth).toBeGreaterThan(0.8);
        expect((times[at + 1] as number) / truth).toBeLessThan(1.25);
      });
    },
  );

  it.each([
    [1, 1],
    [1, 2],
    [0.5, 1],
    [2, 2],
  ])(
    '[Q371] is within a tenth also where prompts wait for each other and share nothing: %d and %d times (seed 3)',
    (...slowness) => {
      const everyMs = 1.2 * HALF_BUSY_MS;
      const { times } = learned({ slowness, everyMs, held: 0 });
      slowness.forEach((truth, at) => {
        expect(Math.abs((times[at + 1] as number) / truth - 1)).toBeLessThan(0.1);
      });
    },
  );

  it('[Q371] is not learned from a prompt whose steps the next may have shared', () => {
    const [decode, prefill] = makePool([{}, {}]) as unknown as Pool;
    const model = new EngineModel();
    const request = makeRequest({ promptTokens: 3000 });
    const alone = predictedTtftMs(IDLE, { promptTokens: 3000, uncachedTokens: 3000 });
    for (let n = 1; n <= 200; n++) {
      const at = n * SELDOM_MS;
      const pair = [0, 3000].map((pendingPrefillTokens) => {
        const prefillLoad = { ...IDLE, pendingPrefillTokens };
        return makeRouted(decode, { request, prefill, prefillLoad, prefillCachedTokens: 0, at });
      });
      for (const each of pair) model.onRouted(each);
      for (const each of pair) model.onFirstToken(each, at + 2 * alone + 0.0066 * 3000);
    }
    const [ofDecode, ofPrefill] = [model.stepTime(decode), model.stepTime(prefill)];
    expect(ofPrefill.perPrefillTokenMs / ofDecode.perPrefillTokenMs).toBeLessThan(1.1);
    expect(ofPrefill.perPrefillTokenMs / ofDecode.perPrefillTokenMs).toBeGreaterThan(0.9);
  });

  it('[Q375] is learned while the next prompt always waits, where that comes as much later as it takes', () => {
    const [decode, prefill] = makePool([{}, {}]) as unknown as Pool;
    const model = new EngineModel();
    const request = makeRequest({ promptTokens: 3000 });
    const everyMs = 3 * predictedTtftMs(IDLE, { promptTokens: 3000, uncachedTokens: 3000 });
    const underWay: Routed[] = [];
    for (let n = 0; n < 100; n++) {
      const at = Math.max(0, n - 2) * everyMs;
      const prefillLoad = { ...IDLE, pendingPrefillTokens: 3000 * underWay.length };
      const fields = { request, prefill, prefillLoad, prefillCachedTokens: 0, at };
      underWay.push(makeRouted(decode, fields));
      model.onRouted(underWay.at(-1) as Routed);
      if (n < 3) continue;
      model.onFirstToken(underWay.shift() as Routed, at + 0.0066 * 3000);
    }
    const [ofDecode, ofPrefill] = [model.stepTime(decode), model.stepTime(prefill)];
    expect(ofPrefill.perPrefillTokenMs / ofDecode.perPrefillTokenMs).toBeGreaterThan(2.5);
    expect(ofPrefill.perPrefillTokenMs / ofDecode.perPrefillTokenMs).toBeLessThan(3.5);
  });

  it('[Q375] is not learned from a prompt with which the next may have been computed, where that ended without a first token', () => {
    const [decode, prefill] = makePool([{}, {}]) as unknown as Pool;
    const model = new EngineModel();
    const request = makeRequest({ promptTokens: 3000 });
    for (let n = 1; n <= 50; n++) {
      const at = n * SELDOM_MS;
      const [first, next] = [0, 3000].map((pendingPrefillTokens) => {
        const prefillLoad = { ...IDLE, pendingPrefillTokens };
        return makeRouted(decode, { request, prefill, prefillLoad, prefillCachedTokens: 0, at });
      }) as [Routed, Routed];
      model.onRouted(first);
      model.onRouted(next);
      model.onFirstToken(first, at + 1000);
      model.onDone(next, at + 1500, 'failed', undefined);
    }
    expect(model.stepTime(prefill)).toEqual(model.stepTime(decode));
  });

  it('[Q340] is not taken for that of the link, where that is ten times slower (seed 3)', () => {
    const { times } = learned({ slowness: [1, 1], perTokenMs: 0.066 });
    for (const each of times) expect(each).toBeLessThan(1.35);
  });

  it('[Q341] is not learned where the first token may have waited longer for prompts at its own server', () => {
    const load = { requests: 5, pendingPrefillTokens: 3000, contextTokens: 20_000 };
    const waits = { load, expectedTtftMs: 50 };
    expect(learned({ slowness: [4, 4], fields: waits }).times).toEqual([1, 1, 1]);
    const comesLater = { load, expectedTtftMs: 400 };
    const { times } = learned({ slowness: [4, 4], fields: comesLater });
    for (const each of times.slice(1)) expect(each).toBeGreaterThan(3);
  });

  it('[Q341] is what a server shows by prompts of its own, where it has some', () => {
    const { model, pool } = learned({ slowness: [1, 3] });
    const [decode, , slow] = pool;
    const load = { requests: 5, pendingPrefillTokens: 0, contextTokens: 20_000 };
    const request = makeRequest({ promptTokens: 4000 });
    const own = makeRouted(slow, { request, load });
    const prompt = { promptTokens: 4000, uncachedTokens: 4000 };
    for (let n = 0; n < 20; n++) model.onFirstToken(own, own.at + predictedTtftMs(load, prompt));
    const [ofDecode, ofSlow] = [model.stepTime(decode), model.stepTime(slow)];
    expect(ofSlow.perPrefillTokenMs / ofDecode.perPrefillTokenMs).toBeLessThan(1.1);
  });

  it('is that of the pool again for an endpoint that takes the place of another', () => {
    const { model, pool } = learned({ slowness: [1, 3] });
    const [decode, , slow] = pool;
    model.onEndpointRemoved(slow);
    model.onEndpointRemoved(decode);
    expect(model.stepTime(slow)).toEqual(model.stepTime(decode));
  });
});
