import { expect, it } from 'vitest';
import { overload, tenants } from './scenarios.ts';

const SCALE = { seconds: 60, seed: 1 };

it('[Q112] keeps goodput and high priority under twice the load, and loses nothing (seed 1, one minute)', () => {
  // A minute has few first tokens of high priority: their p99 is measured by the benchmark.
  const rows = overload(SCALE).filter(({ claim }) => !claim.includes('p99'));
  expect(rows.filter(({ holds }) => !holds)).toEqual([]);
});

it('[Q112] gives tenants tokens by their weights (seed 1, one minute)', () => {
  expect(tenants(SCALE).filter(({ holds }) => !holds)).toEqual([]);
});
