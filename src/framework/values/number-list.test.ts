import { expect, it } from 'vitest';
import { numberList } from './number-list.ts';

it('[P59] lists of numbers have the length that was asked for and share nothing', () => {
  const [long, short, none] = [numberList(3), numberList(2), numberList(0)];
  long.fill(7);
  short.fill(8);
  expect([long, short, none]).toEqual([[7, 7, 7], [8, 8], []]);
  expect(numberList(3)).not.toEqual(long);
});
