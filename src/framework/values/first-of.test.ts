import { expect, test } from 'vitest';
import { firstOf } from './first-of.ts';

test.each([
  [2, ['a', 'b'], 1],
  [3, ['a', 'b', 'c'], 0],
  [4, ['a', 'b', 'c'], 0],
  [0, [], 3],
])('[T25] of a list at most %i items are shown, and the others are counted', (max, shown, more) => {
  expect(firstOf(['a', 'b', 'c'], max)).toEqual({ shown, more });
});
