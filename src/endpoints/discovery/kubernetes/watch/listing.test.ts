import { expect, it } from 'vitest';
import { UnsteadyClock } from '../../../../../test/support/unsteady-clock.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { Listing } from './listing.ts';

function listing() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const reasons: string[] = [];
  const list = new Listing(clock, (reason) => void reasons.push(reason));
  return { clock, reasons, list };
}

it('[V585] a list whose objects came while the process stood still is read on', () => {
  const { clock, reasons, list } = listing();
  clock.advanceBy(50_000);
  clock.pass(5 * 60_000);
  clock.advanceBy(0);
  expect(list.takesMore()).toBe(true);
  clock.advanceBy(59_000);
  expect(list.takesMore()).toBe(true);
  list.end();
  expect([reasons, clock.pending]).toEqual([[], 0]);
});

it('a list of which nothing comes is given up once', () => {
  const { clock, reasons, list } = listing();
  clock.advanceBy(30_000);
  expect(list.takesMore()).toBe(true);
  clock.advanceBy(59_000);
  expect(reasons).toEqual([]);
  clock.advanceBy(60_000);
  expect(reasons).toEqual(['the API server has not answered a list for 60 seconds']);
  expect([list.takesMore(), clock.pending]).toEqual([false, 0]);
});
