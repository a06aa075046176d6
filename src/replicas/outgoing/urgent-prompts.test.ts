import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import { UrgentPrompts } from './urgent-prompts.ts';

const prompt = (promptTokens: number, slot: number, cachedTokens = 0) =>
  makeRouted(makeEndpoint('e', { slot }), { request: makeRequest({ promptTokens }), cachedTokens });

it('[O230] hurries for what one endpoint has to compute, and not for as much at many', () => {
  const urgent = new UrgentPrompts();
  for (let slot = 0; slot < 100; slot++) expect(urgent.add(prompt(1000, slot), 50)).toBeUndefined();
  expect(urgent.add(prompt(9000, 200, 8000), 50)).toBeUndefined();
  expect(urgent.add(prompt(1100, 7), 50)).toBe(1);
  urgent.begin(60);
  expect(urgent.add(prompt(1100, 7), 90)).toBeUndefined();
  expect(urgent.add(prompt(3000, 8), 90)).toBe(1);
});

it('[O230] counts a prompt where it is computed', () => {
  const urgent = new UrgentPrompts();
  const split = { ...prompt(2000, 1), prefill: makeEndpoint('p', { slot: 2 }) };
  expect(urgent.add(split, 0)).toBeUndefined();
  expect(urgent.add(prompt(2000, 1), 0)).toBeUndefined();
  expect(urgent.add(prompt(100, 2), 0)).toBe(1);
});

it('[O230] keeps urgent batches 5 ms apart, so that many long prompts share one', () => {
  const urgent = new UrgentPrompts();
  urgent.begin(100);
  expect(urgent.add(prompt(5000, 1), 101)).toBe(4);
  expect(urgent.add(prompt(5000, 2), 103.5)).toBe(1.5);
  urgent.begin(105);
  expect(urgent.add(prompt(5000, 1), 200)).toBe(1);
});
