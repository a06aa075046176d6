import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../test/makers.ts';
import { latency } from './latency.ts';

const pool = makePool([{}, {}, {}]);
/**
 * To a first token, with 640 tokens of its own: about 32, 52 and 432 ms; something is in flight at
 * each.
 */
const load = [
  { requests: 1 },
  { requests: 1, pendingPrefillTokens: 500 },
  { requests: 1, pendingPrefillTokens: 10_000 },
];

function scores(
  slo: { ttftSloMs?: number; tpotSloMs?: number },
  parameters: object = {},
  inFlight: readonly object[] = load,
): readonly number[] {
  const scorer = latency.create(latency.config.parse(parameters), makeRuntime());
  const request = makeRequest({ promptTokens: 640, ...slo });
  return scorer.score(pool, makeContext({ request, load: inFlight }));
}

describe('latency-scorer', () => {
  it('prefers the tightest of those that meet both objectives, and leaves out the rest', () => {
    expect(scores({ ttftSloMs: 100, tpotSloMs: 50 })).toEqual([0.01, 1, 0]);
  });

  it('prefers the widest where configured so', () => {
    expect(
      scores({ ttftSloMs: 100, tpotSloMs: 50 }, { headroomSelectionStrategy: 'most' }),
    ).toEqual([1, 0.01, 0]);
  });

  it('prefers what has nothing in flight where no other request meets them', () => {
    const idle = [load[0] ?? {}, { requests: 0, pendingPrefillTokens: 900 }, load[2] ?? {}];
    expect(scores({ ttftSloMs: 1, tpotSloMs: 1 }, {}, idle)).toEqual([0, 0.505, 0]);
  });

  it('then those that miss one of the two, the least first', () => {
    const [near = 0, middle = 0, far = 1] = scores({ ttftSloMs: 100, tpotSloMs: 1 });
    expect(middle).toBeGreaterThan(near);
    expect(far).toBe(0);
  });

  it('[D540] ranks by first tokens alone where later tokens come equally fast, whatever their weight', () => {
    const inFlight = [1, 4000, 8000].map((pendingPrefillTokens) => ({
      requests: 1,
      pendingPrefillTokens,
    }));
    const [soon, later = 0, last] = scores({}, { ttftWeight: 0, tpotWeight: 1 }, inFlight);
    expect([soon, last]).toEqual([1, 0.01]);
    expect(later).toBeGreaterThan(0.4);
    expect(later).toBeLessThan(0.6);
  });

  it('[D604] takes weights below 0 where the sum is above 0, and else the first token alone', () => {
    const weights = { ttftWeight: -1, tpotWeight: 3, compositeKVWeight: -2 };
    expect(latency.config.parse(weights)).toMatchObject(weights);
    const without = { ttftWeight: -1, tpotWeight: 0.5 };
    expect(latency.config.parse(without)).toMatchObject({ ttftWeight: 1, tpotWeight: 0 });
  });

  it('without objectives prefers the soonest first token', () => {
    const [soon = 0, later = 0, last = 0] = scores({});
    expect(soon).toBeGreaterThan(later);
    expect(later).toBeGreaterThan(last);
  });
});
