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
