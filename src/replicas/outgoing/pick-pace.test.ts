import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import type { Millis } from '../../framework/runtime.ts';
import { PickPace } from './pick-pace.ts';

const prompt = (promptTokens: number, slot: number, cachedTokens = 0) =>
  makeRouted(makeEndpoint('e', { slot }), { request: makeRequest({ promptTokens }), cachedTokens });

/** One that has sent four batches by the time 100: the next one is due at 120. */
function paced(): PickPace {
  const pace = new PickPace();
  for (let n = 0; n < 4; n++) pace.begin(100);
  return pace;
}

it('[G226] sends a pick at once, four in a row, and then one in 20 ms', () => {
  const pace = new PickPace();
  const sentAt: Millis[] = [];
  for (let now = 1000; sentAt.length < 8; ) {
    now += pace.add(prompt(100, 1), now);
    pace.begin(now);
    sentAt.push(now);
  }
  expect(sentAt).toEqual([1001, 1002, 1003, 1004, 1021, 1041, 1061, 1081]);
  expect(pace.add(prompt(100, 1), 1200)).toBe(1);
});

it('[O230] hurries for what one endpoint has to compute, and not for as much at many', () => {
  const pace = paced();
  for (let slot = 0; slot < 100; slot++) expect(pace.add(prompt(1000, slot), 105)).toBe(15);
  expect(pace.add(prompt(9000, 200, 8000), 105)).toBe(15);
  expect(pace.add(prompt(1100, 7), 105)).toBe(1);
  pace.begin(106);
  expect(pace.add(prompt(1100, 7), 107)).toBe(33);
});

it('[O230] counts a prompt where it is computed', () => {
  const pace = paced();
  const split = { ...prompt(2000, 1), prefill: makeEndpoint('p', { slot: 2 }) };
  expect(pace.add(split, 105)).toBe(15);
  expect(pace.add(prompt(2000, 1), 105)).toBe(15);
  expect(pace.add(prompt(100, 2), 105)).toBe(1);
});

it('[O230] keeps urgent batches 5 ms apart, so that many long prompts share one', () => {
  const pace = paced();
  expect(pace.add(prompt(5000, 1), 101)).toBe(4);
  expect(pace.add(prompt(5000, 2), 103.5)).toBe(1.5);
  pace.begin(105);
  expect(pace.add(prompt(5000, 1), 200)).toBe(1);
});
