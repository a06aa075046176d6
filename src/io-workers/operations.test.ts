import { expect, it } from 'vitest';
import { groupOf, TO_CORE } from './operations.ts';

it('[T29] each operation of I/O workers has a number of its own, and a group', () => {
  const numbers = Object.values(TO_CORE);
  expect(new Set(numbers).size).toBe(Object.keys(TO_CORE).length);
  expect(numbers.filter((number) => groupOf(number) === undefined)).toEqual([]);
  expect(groupOf(Math.max(...numbers) + 1)).toBeUndefined();
});
