import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import type { Millis } from '../../framework/runtime.ts';
import { PickPace } from './pick-pace.ts';

const prompt = (promptTokens: number, slot: number, cachedTokens = 0) =>
  makeRouted(makeEndpoint('e', { slot }), { request: makeRequest({ promptTokens }), cachedTokens });

const paceOf = (endpoints = 100) => new PickPace({ intervalMs: 50, endpoints: () => endpoints });

/** One that has sent four batches by the time 100: the next one is due at 110. */
function paced(endpoints?: number): PickPace {
  const pace = paceOf(endpoints);
  for (let n = 0; n < 4; n++) pace.begin(100);
  return pace;
}

it('[G231] sends a pick at once, four in a row, and then one in 10 ms', () => {
  const pace = paceOf();
  const sentAt: Millis[] = [];
  for (let now = 1000; sentAt.length < 8; ) {
    now += 1 + pace.add(prompt(100, 1), now + 1);
    pace.begin(now);
    sentAt.push(now);
  }
  expect(sentAt).toEqual([1001, 1002, 1003, 1004, 1011, 1021, 1031, 1041]);
  expect(pace.add(prompt(100, 1), 1200)).toBe(0);
});

it('[G231] sends batches less often that have several picks for each endpoint, at most one in 50 ms', () => {
  const sentWith = (picks: number): number => {
    const pace = paceOf(8);
    let sent = 0;
    for (let now = 1000; now < 2000; sent++) {
      let dueMs = 0;
      for (let n = 0; n < picks; n++) dueMs = pace.add(prompt(10, n % 8), now);
      now += dueMs;
      pace.begin(now);
    }
    return sent;
  };
  expect([1, 8, 16, 24, 400].map(sentWith)).toEqual([104, 104, 53, 36, 22]);
});

it('[O230] sends sooner what one endpoint has to compute, and not as much at many', () => {
  const pace = paced();
  for (let slot = 0; slot < 90; slot++) expect(pace.add(prompt(1000, slot), 101)).toBe(9);
  expect(pace.add(prompt(9000, 200, 8000), 101)).toBe(9);
  expect(pace.add(prompt(2200, 7), 101)).toBe(4);
  pace.begin(105);
  expect(pace.add(prompt(1000, 7), 106)).toBe(14);
});

it('[G231] sends no sooner for long prompts that are spread over all endpoints', () => {
  const [few, many] = [paced(4), paced(4)];
  for (const slot of [0, 1, 2]) many.add(prompt(4000, slot), 101);
  expect(many.add(prompt(4000, 3), 101)).toBe(9);
  expect(few.add(prompt(4000, 3), 101)).toBe(4);
});

it('[O230] counts a prompt where it is computed', () => {
  const pace = paced();
  const split = { ...prompt(2000, 1), prefill: makeEndpoint('p', { slot: 2 }) };
  expect(pace.add(split, 101)).toBe(9);
  expect(pace.add(prompt(2000, 1), 101)).toBe(9);
  expect(pace.add(prompt(200, 2), 101)).toBe(4);
});

it('[O230] keeps urgent batches 5 ms apart, so that many long prompts share one', () => {
  const pace = paced();
  expect(pace.add(prompt(5000, 1), 101)).toBe(4);
  expect(pace.add(prompt(5000, 2), 103.5)).toBe(1.5);
  pace.begin(105);
  expect(pace.add(prompt(5000, 1), 200)).toBe(0);
});
