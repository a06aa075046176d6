import { describe, expect, test } from 'vitest';
import { FlowControlBench } from '../../../test/decision/flow-control-bench.ts';
import { NOW } from '../../../test/makers.ts';
import type { Waiting } from '../discipline.ts';
import type { Before } from './fairness/flow.ts';
import { globalStrict } from './fairness/global-strict.ts';
import { explicitLimit, holdback } from './saturation/usage-limits.ts';

const usageLimit = () => holdback({ minCeiling: 0.25, maxCeiling: 1, domain: 'rank' });
const MINUTE = 60_000;

/** How many of ten requests of priority 0 a pool with room for eight takes. */
function taken(bench: FlowControlBench, at: number = NOW): number {
  const waiting = Array.from({ length: 10 }, () => bench.wait({ priority: 0 }, at));
  const placed = bench.place(at);
  for (const each of placed) bench.end(each, at);
  for (const each of waiting) bench.control.remove(each);
  return placed.length;
}

describe('the bands of objectives', () => {
  test('[D460] keep room for a priority that no request has had yet', () => {
    const bench = new FlowControlBench({ usageLimit }, 8);
    expect(taken(bench)).toBe(8);
    // The ceilings of 10 and 0 are 1 and 0.25: the lower band ends at two of eight.
    bench.objectives = new Map([['interactive', 10]]);
    expect(taken(bench)).toBe(2);
    expect(bench.control.bandsAt(NOW).map(({ priority }) => priority)).toEqual([10, 0]);
  });

  test('[D460] stay as long as their objective, and ten minutes after it', () => {
    const bench = new FlowControlBench({ usageLimit }, 8);
    bench.objectives = new Map([['interactive', 10]]);
    taken(bench);
    expect(taken(bench, NOW + 60 * MINUTE)).toBe(2);
    bench.objectives = new Map();
    expect(taken(bench, NOW + 61 * MINUTE)).toBe(2);
    expect(taken(bench, NOW + 72 * MINUTE)).toBe(8);
  });

  test('[D460] of equal priorities there is one, and a priority that requests have is no second one', () => {
    const bench = new FlowControlBench({ usageLimit }, 8);
    bench.wait({ priority: 7 });
    bench.objectives = new Map([
      ['a', 7],
      ['b', 7],
      ['c', -1],
    ]);
    expect(bench.control.bandsAt(NOW).map(({ priority, size }) => [priority, size])).toEqual([
      [7, 1],
      [0, 0],
      [-1, 0],
    ]);
  });
});

describe('a band that only requests name', () => {
  const priorities = (bench: FlowControlBench, at: number): readonly number[] =>
    bench.control.bandsAt(at).map(({ priority }) => priority);

  test('[Q293] stays for ten minutes after its last request', () => {
    const bench = new FlowControlBench();
    for (const at of [NOW, NOW + 9 * MINUTE]) bench.control.remove(bench.wait({ priority: 7 }, at));
    expect(priorities(bench, NOW + 19 * MINUTE)).toEqual([7, 0]);
    expect(priorities(bench, NOW + 20 * MINUTE + 1)).toEqual([0]);
  });

  test('[Q293] calls its fairness policy when it goes', () => {
    let stopped = 0;
    const strict = globalStrict();
    const counted = () => ({
      forBand: (before: Before) => ({ ...strict.forBand(before), stop: () => void stopped++ }),
    });
    const bench = new FlowControlBench({ fairness: new Map([['strict', counted]]) });
    bench.control.remove(bench.wait({ priority: 7 }));
    priorities(bench, NOW + 11 * MINUTE);
    expect(stopped).toBe(1);
  });
});

test('[Q305] a band that is never open closes none below it', () => {
  const written = new Map([
    [10, 1],
    [0, 0.5],
  ]);
  const bench = new FlowControlBench({ usageLimit: () => explicitLimit(written) }, 4);
  for (const priority of [7, 7, 0, 0, 0, 10]) bench.wait({ priority });
  expect(bench.place().map(({ request }) => request.priority)).toEqual([10, 0]);
  expect(bench.control.size).toBe(4);
});

test('[Q306] a flow is forgotten with its last request, however that leaves', () => {
  const bench = new FlowControlBench();
  const waiting = ['a', 'b', 'c'].map((fairnessId) => bench.wait({ fairnessId }, NOW));
  const band = bench.control.bands.of(0, NOW);
  // A flow that is not known is made anew each time.
  const isKnown = (id: string): boolean => band.flowOf(id) === band.flowOf(id);
  expect(['a', 'b', 'c'].map(isKnown)).toEqual([true, true, true]);
  bench.place(NOW, 1);
  bench.control.remove(waiting[1] as Waiting);
  expect(['a', 'b', 'c'].map(isKnown)).toEqual([false, false, true]);
  bench.control.expired(NOW + 60_000);
  expect(isKnown('c')).toBe(false);
});
