import { expect, test } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { Expiry } from './expiry.ts';
import { Flow, type Item } from './fairness/flow.ts';
import { firstCome } from './orderings.ts';

const itemOf = (number: number, since: number, ttlMs: number): Item => {
  const waiting = { request: makeRequest({ id: `r${number}` }), since, bytes: 1, candidates: 1 };
  return { waiting, number, ttlMs, flow: new Flow('a', firstCome) };
};

/** The numbers of the requests whose time is over, in the order in which they are refused. */
function dueAt(expiry: Expiry, at: number): readonly number[] {
  const due: number[] = [];
  for (let item = expiry.due(at); item !== undefined; item = expiry.due(at)) {
    due.push(item.number);
    expiry.delete(item);
  }
  return due;
}

test('[Q50] where the pool gets or loses its endpoints, those are refused first whose time ends first by then', () => {
  const expiry = new Expiry(10_000);
  expiry.see(true, 0);
  // Without endpoints the first to come is the first to go, whatever its own time is.
  const times = [9000, 500, 7000, 300, 8000, 100, 6000];
  for (const [number, ttlMs] of times.entries()) expiry.add(itemOf(number, number, ttlMs));
  expiry.see(false, 50);
  expect(dueAt(expiry, 550)).toEqual([5, 3, 1]);
  expiry.see(true, 600);
  expect(dueAt(expiry, 10_599)).toEqual([]);
  expect(dueAt(expiry, 10_600)).toEqual([0, 2, 4, 6]);
});
