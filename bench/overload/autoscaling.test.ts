import { expect, it } from 'vitest';
import { stepWithAutoscaling } from './autoscaling.ts';

it('[Q133] serves on while replicas start, and all again soon after, where demand is five times as much at once (seed 1)', () => {
  const sizes = { promptTokens: 1500, outputTokens: 150 };
  const rows = stepWithAutoscaling({ coldStartMs: 60_000, seed: 1, capacity: 38, sizes });
  expect(rows.filter(({ holds }) => !holds)).toEqual([]);
});
