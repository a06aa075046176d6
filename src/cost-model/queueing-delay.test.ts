import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/seeded-random.ts';
import { queueingDelayForOthersMs } from './queueing-delay.ts';

/**
 * Total waiting of those who come to one queue in turn, after it has had `firstMs` of work at the
 * start.
 */
function totalWaitMs(arrivals: readonly { at: number; workMs: number }[], firstMs: number): number {
  let freeAt = firstMs;
  let total = 0;
  for (const { at, workMs } of arrivals) {
    const startsAt = Math.max(at, freeAt);
    total += startsAt - at;
    freeAt = startsAt + workMs;
  }
  return total;
}

describe('queueingDelayForOthersMs', () => {
  it('is by how much a queue makes those who come later wait longer, on average (seed 7)', () => {
    const random = seededRandom(7);
    const [requestsPerMs, meanMs, backlogMs, workMs] = [0.01, 60, 300, 400];
    const draws = 4000;
    let added = 0;
    for (let draw = 0; draw < draws; draw++) {
      const arrivals: { at: number; workMs: number }[] = [];
      for (let at = 0; at < 20_000; ) {
        at += -Math.log(1 - random.next()) / requestsPerMs;
        arrivals.push({ at, workMs: -Math.log(1 - random.next()) * meanMs });
      }
      added += totalWaitMs(arrivals, backlogMs + workMs) - totalWaitMs(arrivals, backlogMs);
    }
    const predicted = queueingDelayForOthersMs(
      { requestsPerMs, utilization: requestsPerMs * meanMs },
      backlogMs,
      workMs,
    );
    expect(added / draws / predicted).toBeGreaterThan(0.95);
    expect(added / draws / predicted).toBeLessThan(1.05);
  });

  it('stays finite where more comes than can be done', () => {
    const full = queueingDelayForOthersMs({ requestsPerMs: 0.1, utilization: 5 }, 100, 100);
    expect(full).toBe(
      queueingDelayForOthersMs({ requestsPerMs: 0.1, utilization: 0.875 }, 100, 100),
    );
    expect(queueingDelayForOthersMs({ requestsPerMs: 0, utilization: 0 }, 100, 100)).toBe(0);
  });
});
