import { expect, it } from 'vitest';
import { LeftToOthers } from './left-to-others.ts';

const band = (priority: number, requests: number) => ({ priority, requests });

/** How many of a hundred places that become free are left to others. */
function leftOf(
  own: ReturnType<typeof band> | undefined,
  ...others: readonly ReturnType<typeof band>[]
): number {
  const left = new LeftToOthers();
  for (let n = 0; n < 100; n++) left.freed(own, others, 0);
  return left.count(0);
}

it('[O179] leaves others the share of free places that they have of what waits', () => {
  expect(leftOf(band(0, 30), band(0, 10))).toBe(25);
  expect(leftOf(band(0, 10), band(0, 10), band(0, 20))).toBe(75);
  expect(leftOf(band(0, 10))).toBe(0);
  expect(leftOf(undefined, band(0, 10))).toBe(0);
});

it('[O179] leaves places only to what has the highest priority of all that wait', () => {
  expect(leftOf(band(1, 1), band(0, 1000))).toBe(0);
  expect(leftOf(band(-1, 1000), band(0, 1))).toBe(100);
  expect(leftOf(band(2, 10), band(2, 10), band(0, 1000))).toBe(50);
});

it('[O179] takes a place back that no replica has used in time', () => {
  const left = new LeftToOthers();
  for (const at of [0, 40]) left.freed(band(-1, 1), [band(0, 1)], at);
  expect([left.count(40), left.count(100), left.count(140)]).toEqual([2, 1, 0]);
  left.freed(band(-1, 1), [band(0, 1)], 200);
  left.taken();
  left.taken();
  expect(left.count(200)).toBe(0);
});
