import { expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../../test/decision/flow-control-bench.ts';
import { makeRequest, NOW } from '../../../../test/makers.ts';
import type { Waiting } from '../../discipline.ts';

function benchOf(fairness: string): FlowControlBench {
  return new FlowControlBench({ defaultBand: makeBand({ fairness }) });
}

/** The programs of all that waits, in the order in which they are served one after another. */
function served(bench: FlowControlBench): readonly string[] {
  const order: string[] = [];
  for (let placed = bench.place(); placed.length > 0; placed = bench.place()) {
    for (const waiting of placed) {
      order.push(waiting.request.fairnessId);
      bench.end(waiting);
    }
  }
  return order;
}

test('[Q49] turns of a program count in every band in which it waits', () => {
  const bench = benchOf('turns');
  for (const fairnessId of ['one', 'other']) bench.wait({ fairnessId });
  for (let turn = 0; turn < 3; turn++) {
    bench.wait({ fairnessId: 'other', priority: 1 });
    bench.end(bench.place(NOW, 1)[0] as Waiting);
  }
  expect(served(bench)).toEqual(['other', 'one']);
});

test('[Q49] turns that a program had at other replicas count, too', () => {
  const bench = benchOf('turns');
  for (const fairnessId of ['one', 'other']) bench.wait({ fairnessId });
  bench.control.placedElsewhere(makeRequest({ id: 'there', fairnessId: 'other' }), NOW);
  expect(served(bench)).toEqual(['other', 'one']);
});

test('[Q48] of programs that got as little and wait as long, the first to come is next', () => {
  const bench = benchOf('least');
  for (const fairnessId of ['c', 'a', 'b']) bench.wait({ fairnessId });
  expect(bench.place(NOW, 1).map(({ request }) => request.fairnessId)).toEqual(['c']);
});

test('[Q309] a program with a request in flight does not pause, and the first turn is no pause', () => {
  const bench = benchOf('turns');
  const [first, second] = ['deep', 'deep'].map((fairnessId) => bench.wait({ fairnessId }));
  for (const waiting of [first, second]) {
    expect(bench.place()).toEqual([waiting]);
    if (waiting === first) bench.end(waiting as Waiting);
  }
  const at = NOW + 500_000;
  const next = (): string | undefined => {
    for (const fairnessId of ['new', 'deep']) bench.wait({ fairnessId }, at);
    const [placed] = bench.place(at, 1);
    return placed?.request.fairnessId;
  };
  bench.inFlight = 0;
  // Its second request still runs.
  expect(next()).toBe('deep');
});

test('[Q309] a turn counts as soon as it is placed, and a pause from its end', () => {
  const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'turns' }) }, 10);
  for (const fairnessId of ['one', 'other', 'other']) bench.wait({ fairnessId });
  const placed = bench.place(NOW, 2).map(({ request }) => request.fairnessId);
  expect(placed).toEqual(['one', 'other']);
  for (const fairnessId of ['one', 'one']) bench.wait({ fairnessId });
  // Both have had one turn; that of the other one came first.
  expect(bench.place(NOW, 2).map(({ request }) => request.fairnessId)).toEqual(['other', 'one']);
});
