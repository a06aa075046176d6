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
  readonly fields?: Partial<Routed>;
}

const STEP_MS = 10;

/** The model after so many prompts of the decoder's own, and of each prefill server (seed 3). */
function learned({ slowness, perTokenMs = 0.0066, fields }: Times, prompts = 400) {
  const pool = makePool([{}, {}, {}]) as unknown as Pool;
  const [decode, ...prefillers] = pool;
  const model = new EngineModel();
  const random = seededRandom(3);
  for (let n = 0; n < prompts; n++) {
    const promptTokens = Math.round(200 + 6000 * random.next());
    const request = makeRequest({ promptTokens });
    const prompt = { promptTokens, uncachedTokens: promptTokens };
    const noise = (): number => 0.9 + 0.2 * random.next();
    const load = { requests: 5, pendingPrefillTokens: 0, contextTokens: 20_000 };
    const own = makeRouted(decode, { request, load });
    model.onFirstToken(own, own.at + predictedTtftMs(load, prompt) * noise());
    prefillers.forEach((prefill, at) => {
      const pendingPrefillTokens = Math.floor(9000 * Math.max(0, random.next() - 0.4));
      const prefillLoad = { requests: 3, pendingPrefillTokens, contextTokens: 9000 };
      const routed = makeRouted(decode, {
        request,
        load,
        prefill,
        prefillLoad,
        // The decoder has had an earlier part of some of these prompts.
        cachedTokens: n % 2 === 0 ? 0 : Math.round(0.7 * promptTokens),
        prefillCachedTokens: 0,
        expectedTpotMs: STEP_MS,
        ...fields,
      });
      const promptMs = (slowness[at] ?? 1) * predictedTtftMs(prefillLoad, prompt) * noise();
      const transferMs = perTokenMs * (promptTokens - routed.cachedTokens);
      model.onFirstToken(routed, routed.at + promptMs + transferMs + STEP_MS);
    });
  }
  const speeds = pool.map((endpoint) => model.stepTime(endpoint).perPrefillTokenMs);
  return { model, pool, times: speeds.map((speed) => speed / (speeds[0] as number)) };
}

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

  it('[Q340] is not taken for that of the link, where that is ten times slower (seed 3)', () => {
    const { times } = learned({ slowness: [1, 1], perTokenMs: 0.066 });
    for (const each of times) expect(each).toBeLessThan(1.35);
  });

  it('[Q341] is not learned where the first token may have waited for prompts at its own server', () => {
    const load = { requests: 5, pendingPrefillTokens: 1, contextTokens: 20_000 };
    const { times } = learned({ slowness: [4, 4], fields: { load } });
    expect(times).toEqual([1, 1, 1]);
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
