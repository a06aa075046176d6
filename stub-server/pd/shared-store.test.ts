import { expect, it } from 'vitest';
import { SharedStore } from './shared-store.ts';

it('finds how much of a prompt is stored from its start on, and drops the ends of the oldest first', () => {
  const store = new SharedStore(5);
  store.keep([1, 2, 3]);
  expect(store.leading([1, 2, 9, 3])).toBe(2);
  store.keep([11, 12, 13]);
  expect(store.leading([1, 2, 3])).toBe(2);
  expect(store.leading([11, 12, 13])).toBe(3);
  store.keep([1]);
  store.keep([21, 22]);
  expect([store.leading([1, 2]), store.leading([11, 12, 13])]).toEqual([1, 2]);
});
