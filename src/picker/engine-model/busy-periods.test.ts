import { describe, expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { Routed } from '../../framework/observer.ts';
import { BusyPeriods } from './busy-periods.ts';

const [decode, prefill] = makePool([{}, {}]) as unknown as readonly [Endpoint, Endpoint];
const TOKENS = 1000;

/** A prompt of 1,000 tokens that is sent while so many tokens are pending there. */
function prompt(at: number, pendingPrefillTokens = 0, computes = prefill): Routed {
  const requests = pendingPrefillTokens / TOKENS;
  return makeRouted(decode, {
    at,
    request: makeRequest({ promptTokens: TOKENS }),
    prefill: computes,
    prefillCachedTokens: 0,
    prefillLoad: { requests, pendingPrefillTokens, contextTokens: 0 },
  });
}

/** Periods to which these were sent in turn. */
function periodsOf(prompts: readonly Routed[]): BusyPeriods {
  const periods = new BusyPeriods();
  for (const each of prompts) periods.sent(each, each.prefill as Endpoint);
  return periods;
}

/** How many prompts of 1,000 tokens a period has, by the first of its features. */
function countOf(features: readonly number[] | undefined): number {
  const alone = periodsOf([first]).firstToken(first, 9, 8)?.features;
  return (features?.[0] ?? 0) / (alone?.[0] ?? 1);
}

const first = prompt(0);
const second = prompt(10, TOKENS);
const third = prompt(300, 0);

describe('busy periods of a prefill server', () => {
  it('[Q371] have the prompts that were sent before their server was done with the last', () => {
    const periods = periodsOf([first, second, third]);
    expect(periods.firstToken(first, 120, 100)?.since).toBe(0);
    const both = periods.firstToken(second, 220, 200);
    expect(both?.since).toBe(0);
    expect(countOf(both?.features)).toBe(2);
    const next = periods.firstToken(third, 420, 400);
    expect(next?.since).toBe(300);
    expect(countOf(next?.features)).toBe(1);
  });

  it('[Q371] are not known where it is not known when the prompt before was computed', () => {
    const waited = periodsOf([first, second]);
    expect(waited.firstToken(first, 120)).toBeUndefined();
    expect(waited.firstToken(second, 220, 200)).toBeUndefined();
    const lost = periodsOf([first, second]);
    lost.ended(first);
    expect(lost.firstToken(second, 220, 200)).toBeUndefined();
    const earlier = periodsOf([first, second]);
    expect(earlier.firstToken(second, 220, 200)).toBeUndefined();
  });

  it('[Q371] begin anew after one that is not known', () => {
    const periods = periodsOf([first, second, third]);
    periods.ended(first);
    periods.firstToken(second, 220, 200);
    expect(periods.firstToken(third, 420, 400)?.since).toBe(300);
  });

  it('[Q371] are not known where others have sent prompts there', () => {
    const behindOthers = prompt(0, 2 * TOKENS);
    expect(periodsOf([behindOthers]).firstToken(behindOthers, 220, 200)).toBeUndefined();
  });

  it('[Q371] are those of one prompt where one of several engines is free', () => {
    const [, several] = makePool([{}, { attributes: [[ENGINE_COUNT as never, 2]] }]) as Endpoint[];
    const [one, two, waits] = [0, TOKENS, 2 * TOKENS].map((pending) =>
      prompt(5, pending, several),
    ) as [Routed, Routed, Routed];
    const periods = periodsOf([one, two, waits]);
    expect(countOf(periods.firstToken(two, 220, 200)?.features)).toBe(1);
    expect(countOf(periods.firstToken(one, 220, 200)?.features)).toBe(1);
    expect(periods.firstToken(waits, 320, 300)).toBeUndefined();
  });
});
