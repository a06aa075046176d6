import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { RecentDemand } from './recent-demand.ts';

const ONE = { requests: 1, workMs: 8 };

describe('RecentDemand', () => {
  it('gives the rate of regular requests, and forgets it when they end', () => {
    const demand = new RecentDemand();
    for (let at = 0; at <= 400_000; at += 20) demand.add(3, ONE, at);
    const requestsAt = (now: number): number => demand.rate(now) * demand.of(3).requests;
    expect(requestsAt(400_000)).toBeCloseTo(1 / 20, 3);
    expect(demand.rate(400_000) * demand.of(3).workMs).toBeCloseTo(8 / 20, 3);
    expect(requestsAt(430_000)).toBeCloseTo(1 / 20 / Math.E, 3);
    expect(requestsAt(1_000_000)).toBeLessThan(1e-9);
  });

  it('[Q367] gives the rate of the time since the first request alone, long before its memory is full', () => {
    const demand = new RecentDemand();
    for (let at = 7_000_000; at <= 7_010_000; at += 20) demand.add(3, ONE, at);
    const { requests } = demand.of(3);
    expect(demand.rateSinceStart(7_010_000) * requests).toBeCloseTo(1 / 20, 3);
    expect(demand.rate(7_010_000) * requests).toBeLessThan(0.3 / 20);
  });

  it('[Q367] takes requests that come together for those of a second', () => {
    const demand = new RecentDemand();
    for (let count = 0; count < 20; count++) demand.add(3, ONE, 500);
    const perMs = demand.rateSinceStart(500) * demand.of(3).requests;
    expect(perMs).toBeGreaterThan(19 / 1000);
    expect(perMs).toBeLessThan(21 / 1000);
  });

  it('is a sum in which each request counts e^(-age / 30 s), over hours, too (seed 4)', () => {
    const random = seededRandom(4);
    const demand = new RecentDemand();
    const sent: { slot: number; at: number }[] = [];
    for (let at = 0; at < 4 * 3_600_000; at += 60_000 * random.next() ** 3) {
      const slot = Math.floor(3 * random.next());
      demand.add(slot, ONE, at);
      sent.push({ slot, at });
      if (sent.length % 50 !== 0) continue;
      for (let each = 0; each < 3; each++) {
        const expected = sent
          .filter((request) => request.slot === each)
          .reduce((sum, request) => sum + Math.exp((request.at - at) / 30_000) / 30_000, 0);
        const got = demand.rate(at) * demand.of(each).requests;
        expect(Math.abs(got - expected)).toBeLessThan(1e-9);
      }
    }
  });

  it("forgets a slot, which may be another endpoint's next", () => {
    const demand = new RecentDemand();
    demand.add(0, ONE, 5);
    demand.forget(0);
    expect(demand.of(0)).toEqual({ requests: 0, workMs: 0 });
  });
});
