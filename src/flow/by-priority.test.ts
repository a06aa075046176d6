import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { ByPriority } from './by-priority.ts';
import type { Waiting } from './discipline.ts';
import { urgencyOf } from './order.ts';

const waiting = (priority: number, bytes = 10): Waiting => ({
  request: makeRequest({ priority }),
  since: 0,
  bytes,
  candidates: 1,
});

describe('ByPriority', () => {
  it('[Q5] serves higher priorities strictly first, and lets the queue choose among equals', () => {
    const queue = new ByPriority(() => ({ maxRequests: 10, maxBytes: 1000 }));
    const [low, high, other] = [waiting(-1), waiting(5), waiting(-1)];
    for (const each of [low, high, other]) queue.add(each, 0);
    expect(Array.from(queue.ready(1), ({ order, requests }) => [order, [...requests]])).toEqual([
      ['free', [high]],
      ['free', [low, other]],
    ]);
  });

  it('[Q6] refuses what exceeds its limits in requests or bytes, and counts what leaves', () => {
    const queue = new ByPriority(() => ({ maxRequests: 2, maxBytes: 100 }));
    const [first, second] = [waiting(0), waiting(0)];
    queue.add(first, 0);
    expect(() => queue.add(waiting(0, 95), 0)).toThrow('requests of 10 bytes wait');
    queue.add(second, 0);
    expect(() => queue.add(waiting(0), 0)).toThrow('2 requests wait');
    expect([queue.size, queue.bytes]).toEqual([2, 20]);
    queue.remove(first, 1);
    queue.remove(first, 1);
    queue.placed(second, 1);
    expect([queue.size, queue.bytes, [...queue.ready(2)]]).toEqual([0, 0, []]);
  });
});

describe('urgencyOf', () => {
  const of = (waitedMs: number, ownMs: number, ttftSloMs?: number): number =>
    urgencyOf({ waitedMs, ownMs, ttftSloMs });

  it('[Q5] lets short requests pass long ones at first, and no request wait for ever', () => {
    expect(of(0, 10)).toBeGreaterThan(of(100, 1000));
    expect(of(0, 10)).toBeLessThan(of(5000, 1000));
    expect(of(200, 300)).toBeGreaterThan(of(100, 300));
  });

  it('[Q5] puts those first whose deadline can only just be met, and others as without one', () => {
    expect(of(700, 200, 1000)).toBeGreaterThan(of(100_000, 1));
    expect(of(0, 200, 1000)).toBe(of(0, 200));
    expect(of(2000, 200, 1000)).toBe(of(2000, 200));
    expect(of(780, 200, 1000)).toBeGreaterThan(of(700, 200, 1000));
  });
});
