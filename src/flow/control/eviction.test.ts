import { describe, expect, test } from 'vitest';
import { FlowControlBench } from '../../../test/decision/flow-control-bench.ts';
import { makeRequest, NOW } from '../../../test/makers.ts';
import type { Waiting } from '../discipline.ts';
import { Reclamation } from './reclamation.ts';
import { RunningRequests } from './running-requests.ts';

/** A full pool whose requests in flight have these priorities. */
function fullPool(priorities: readonly number[], evicts = true) {
  const bench = new FlowControlBench({ evicts }, priorities.length);
  const running: Waiting[] = [];
  for (const priority of priorities) {
    bench.wait({ priority });
    running.push(...bench.place());
  }
  return { bench, running };
}

const idsOf = (requests: readonly { readonly id: string }[]): readonly string[] =>
  requests.map(({ id }) => id);

describe('eviction', () => {
  test('[Q58] the lowest priority goes first, of it the newest, and only what may be shed', () => {
    const { bench } = fullPool([-1, -5, 0, -5, 3]);
    bench.wait({ priority: 1 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r3']);
    expect(bench.control.reclamation.target).toBe(0);
  });

  test('[Q58] nothing is evicted for its own band, for a lower one, or without demand', () => {
    const { bench } = fullPool([-1, -1]);
    expect(bench.control.evict(NOW)).toEqual([]);
    bench.wait({ priority: -1 });
    expect(bench.control.evict(NOW)).toEqual([]);
    bench.wait({ priority: 0 });
    expect(bench.control.evict(NOW)).toHaveLength(1);
    const off = fullPool([-1], false).bench;
    off.wait({ priority: 0 });
    expect(off.control.evict(NOW)).toEqual([]);
    const unsheddable = fullPool([0, 0]).bench;
    unsheddable.wait({ priority: 9 });
    expect(unsheddable.control.evict(NOW)).toEqual([]);
  });

  test('[Q58] an excess evicts as many as free it, two at most', () => {
    const { bench } = fullPool([-1, -1, -1, -1]);
    bench.inFlight = 8;
    bench.wait({ priority: 0 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r3', 'r2']);
  });

  test('[Q293] what has ended is not evicted', () => {
    const { bench, running } = fullPool([-1, -1]);
    bench.end(running[1] as Waiting);
    // Others fill the pool, which are not ours.
    bench.inFlight = 2;
    bench.wait({ priority: 0 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r0']);
  });

  test('[Q307] what one eviction frees is computed from the requests in flight, without those that have ended', () => {
    const { bench, running } = fullPool([-1, -1, -1, -1]);
    for (const one of running.slice(0, 2)) bench.end(one);
    // Each of the two that are left stands for half of what the detector sees.
    bench.inFlight = 6;
    bench.wait({ priority: 0 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r3']);
  });

  test('[Q307] what evicted requests free is pending until the detector can show it, also where nothing waits any more', () => {
    const { bench, running } = fullPool([-1, -1, -1, -1]);
    const { control } = bench;
    const pendingAt = (at: number): number => {
      control.evict(at);
      return control.reclamation.pendingAt(at);
    };
    bench.wait({ priority: 0 });
    expect(pendingAt(NOW)).toBe(0.25);
    bench.end(running[3] as Waiting, NOW + 100);
    bench.place(NOW + 100);
    expect([pendingAt(NOW + 109), pendingAt(NOW + 110)]).toEqual([0.25, 0]);
  });

  test('[Q307] an evicted request whose end is not seen for ten seconds frees nothing', () => {
    const { bench } = fullPool([-1, -1]);
    const waiting = bench.wait({ priority: 0 });
    bench.control.evict(NOW);
    bench.control.remove(waiting);
    const pendingAt = (at: number): number => bench.control.reclamation.pendingAt(at);
    expect([pendingAt(NOW + 9999), pendingAt(NOW + 10_000)]).toEqual([0.5, 0]);
  });

  test('[Q59] the next step waits until the evicted requests have ended and the detector can show it', () => {
    const { bench, running } = fullPool([-1, -1, -1]);
    for (let n = 0; n < 3; n++) bench.wait({ priority: 0 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r2']);
    expect(bench.control.evict(NOW + 5000)).toEqual([]);
    bench.end(running[2] as Waiting, NOW + 5000);
    expect(bench.control.reclamation.counts).toEqual({ issued: 1, confirmed: 1, timedOut: 0 });
    expect(bench.control.evict(NOW + 5009)).toEqual([]);
    bench.place(NOW + 5009);
    expect(idsOf(bench.control.evict(NOW + 5010))).toEqual(['r1']);
  });

  test('[Q59] an evicted request whose end is not seen for ten seconds does not stop eviction', () => {
    const { bench } = fullPool([-1, -1]);
    bench.wait({ priority: 0 });
    expect(bench.control.evict(NOW)).toHaveLength(1);
    expect(bench.control.evict(NOW + 10_000)).toEqual([]);
    expect(bench.control.reclamation.counts.timedOut).toBe(1);
    expect(idsOf(bench.control.evict(NOW + 10_010))).toEqual(['r0']);
  });

  test('[Q58] an excess of one request and a half evicts two', () => {
    const { bench } = fullPool([-1, -1, -1, -1]);
    // Each of the four requests in flight stands for a quarter of what the detector sees.
    bench.inFlight = 6.4;
    bench.wait({ priority: 0 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r3', 'r2']);
    const little = fullPool([-1, -1, -1, -1]).bench;
    little.inFlight = 5;
    little.wait({ priority: 0 });
    expect(idsOf(little.control.evict(NOW))).toEqual(['r3']);
  });

  test.each([0, 0.5])(
    '[Q58] a ceiling of %d: nothing is evicted for a band that is closed at any saturation',
    (closed) => {
      let ceiling = 1;
      const ceilings = (_saturation: number, priorities: readonly number[]): readonly number[] =>
        priorities.map((priority) => (priority === 0 ? ceiling : 1));
      const bench = new FlowControlBench({ evicts: true, usageLimit: () => ({ ceilings }) });
      bench.wait({ priority: -1 });
      bench.place();
      ceiling = closed;
      bench.wait({ priority: 0 });
      expect(bench.control.evict(NOW)).toHaveLength(closed === 0 ? 0 : 1);
    },
  );

  test('[Q58] an excess evicts no more than there is of a lower priority', () => {
    const { bench } = fullPool([-1, -5]);
    bench.inFlight = 8;
    bench.wait({ priority: -1 });
    expect(idsOf(bench.control.evict(NOW))).toEqual(['r1']);
  });

  test('[Q59][Q242] the detector’s time counts on under a new configuration', () => {
    const running = new RunningRequests();
    const victim = makeRequest({ id: 'r0', priority: -1 });
    running.add(victim);
    const before = new Reclamation(running, 10);
    expect(before.reclaim({ priority: 0, saturation: 1, ceiling: 1 }, NOW)).toEqual([victim]);
    running.delete(victim);
    before.ended(victim, NOW);
    const after = new Reclamation(running, 10, before);
    expect([after.isOpen(NOW + 9), after.isOpen(NOW + 10)]).toEqual([false, true]);
  });
});
