import { describe, expect, it } from 'vitest';
import {
  type ContextFields,
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../test/makers.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { byCost } from './by-cost.ts';

type Pair = readonly [Endpoint, Endpoint];

const pool = makePool([{}, {}]) as Pair;
const [decode, prefill] = pool;

/** Whether 6,400 tokens, 276 ms of work, are to be computed elsewhere. */
function elsewhere(
  load: readonly [Partial<InFlightLoad>, Partial<InFlightLoad>],
  parameters: object = {},
  more: Pick<ContextFields, 'matchedBlocks' | 'demand' | 'stepTimes'> = {},
  [decoder, prefiller]: Pair = pool,
): boolean | undefined {
  const decider = byCost.create(byCost.config.parse(parameters), makeRuntime());
  const request = makeRequest({ promptTokens: 6400 });
  const context = makeContext({ request, load, totalBlocks: 100, ...more });
  return decider.keeps?.(decoder, prefiller, context);
}

describe('cost-pd-decider', () => {
  it('computes at home where no other request would be delayed', () => {
    expect(elsewhere([{}, {}])).toBe(false);
  });

  it('computes elsewhere where many decode at home', () => {
    expect(elsewhere([{ requests: 20 }, {}])).toBe(true);
  });

  it('computes at home, in spite of them, where the queue elsewhere is longer than what they lose', () => {
    const queue = { pendingPrefillTokens: 200_000 };
    expect(elsewhere([{ requests: 20 }, queue])).toBe(false);
  });

  it('computes at home what is cached at home', () => {
    expect(elsewhere([{ requests: 20 }, {}], {}, { matchedBlocks: [99, 0] })).toBe(false);
  });

  it('counts the transfer: a link of a thousandth is not worth it', () => {
    expect(elsewhere([{ requests: 20 }, {}], { linkGigabytesPerSecond: 0.02 })).toBe(false);
  });

  it('[D290] counts that the request passes the front end of a second engine', () => {
    const first = { objective: 'first-token' };
    const load = [{ requests: 20, pendingPrefillTokens: 3000 }, {}] as const;
    const withOverhead = (overheadMs: number) => {
      const engine = { ...PRIOR_STEP_TIME, overheadMs };
      return elsewhere(load, first, { stepTimes: [engine, engine] });
    };
    expect(withOverhead(0)).toBe(true);
    expect(withOverhead(100)).toBe(false);
  });

  it('[D290] does not send away what waits for the prompts at the decoder anyway', () => {
    const first = { objective: 'first-token' };
    const load = [{ pendingPrefillTokens: 8000 }, {}] as const;
    expect(elsewhere(load, first, { matchedBlocks: [100, 100] })).toBe(false);
    expect(elsewhere(load, first, { matchedBlocks: [0, 100] })).toBe(true);
  });

  it('[Q199] learns from first tokens how much later they come than prompt and link say', () => {
    const decider = byCost.create(byCost.config.parse({ objective: 'first-token' }), makeRuntime());
    const request = makeRequest({ promptTokens: 6400 });
    const load = [{ requests: 20, pendingPrefillTokens: 9000 }, {}];
    const keeps = () => decider.keeps?.(decode, prefill, makeContext({ request, load }));
    expect(keeps()).toBe(true);
    const routed = makeRouted(decode, { request, prefill, expectedTtftMs: 300, expectedTpotMs: 6 });
    for (let n = 0; n < 50; n++) decider.onFirstToken?.(routed, routed.at + 360);
    expect(keeps()).toBe(true);
    // It waited for the prompts there: that says nothing of the way.
    const waited = { ...routed, load: { requests: 1, pendingPrefillTokens: 1, contextTokens: 0 } };
    for (let n = 0; n < 500; n++) decider.onFirstToken?.(waited, routed.at + 2000);
    expect(keeps()).toBe(true);
    for (let n = 0; n < 500; n++) decider.onFirstToken?.(routed, routed.at + 1500);
    expect(keeps()).toBe(false);
  });

  it('for first tokens alone, does not count those who are held up', () => {
    const first = { objective: 'first-token' };
    expect(elsewhere([{ requests: 20 }, {}], first)).toBe(false);
    expect(elsewhere([{ requests: 20, pendingPrefillTokens: 9000 }, {}], first)).toBe(true);
  });

  it('[Q258] for first tokens alone, counts those who are held up as far as KV memory is short', () => {
    const withUse = (kv: number) => {
      const endpoints = makePool([{ kv }, {}]) as Pair;
      return elsewhere([{ requests: 20 }, {}], { objective: 'first-token' }, {}, endpoints);
    };
    expect([0, 0.8, 0.99, 1].map(withUse)).toEqual([false, false, true, true]);
  });

  it('computes elsewhere what many who come to the decoder would have to wait for', () => {
    const first = { objective: 'first-token' };
    const busy = { requests: 0.01, workMs: 0.6 };
    expect(elsewhere([{}, {}], first, { demand: [busy, {}] })).toBe(true);
    expect(elsewhere([{}, {}], first, { demand: [busy, busy] })).toBe(false);
  });
});
