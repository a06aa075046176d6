import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/seeded-random.ts';
import { queueingDelayForOthersMs, RECENT_MS, rateOfStaying } from './queueing-delay.ts';

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

describe('rateOfStaying', () => {
  /** Root mean square of relative errors of the rate, by what came lately, and with what stays. */
  function errors(stayMs: number): { readonly lately: number; readonly staying: number } {
    const random = seededRandom(11);
    const [perMs, draws] = [1 / 10_000, 2000];
    let [lately, staying] = [0, 0];
    for (let draw = 0; draw < draws; draw++) {
      let [recent, inFlight] = [0, 0];
      for (let ago = -Math.log(1 - random.next()) / perMs; ago < 1_000_000; ) {
        recent += Math.exp(-ago / RECENT_MS) / RECENT_MS;
        if (ago < stayMs) inFlight += 1;
        ago += -Math.log(1 - random.next()) / perMs;
      }
      const rate = rateOfStaying(recent, inFlight, stayMs);
      lately += (recent / perMs - 1) ** 2 / draws;
      staying += (rate / perMs - 1) ** 2 / draws;
    }
    return { lately: Math.sqrt(lately), staying: Math.sqrt(staying) };
  }

  it('[Q260] knows a rate of one request in 10 s, each of which stays for 200 s, better than what came in half a minute does (seed 11)', () => {
    const { lately, staying } = errors(200_000);
    expect(lately).toBeGreaterThan(0.35);
    expect(staying).toBeLessThan(0.26);
  });

  it('[Q260] is that of late where requests stay for no longer than half a minute, and changes at once nowhere', () => {
    const rate = (stayMs: number): number => rateOfStaying(0.001, 1000, stayMs);
    expect(rate(1)).toBe(0.001);
    expect(rate(RECENT_MS)).toBe(0.001);
    expect(rate(RECENT_MS + 1)).toBeCloseTo(0.001, 5);
    expect(rate(2 * RECENT_MS - 1)).toBeCloseTo(rate(2 * RECENT_MS), 5);
    expect(rate(10 * RECENT_MS)).toBe(1000 / (10 * RECENT_MS));
  });
});
