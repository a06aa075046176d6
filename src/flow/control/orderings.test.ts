import { expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../test/decision/flow-control-bench.ts';
import { NOW } from '../../../test/makers.ts';
import type { Before } from './fairness/flow.ts';
import { earliestDeadline, earliestFirstToken, firstCome } from './orderings.ts';

function orderOf(before: Before, requestTtlMs = 1000): readonly string[] {
  const bench = new FlowControlBench({ defaultBand: makeBand({ before }), requestTtlMs }, 10);
  const headers = new Map([['x-llm-d-inference-ttl', '100ms']]);
  bench.wait({ id: 'first' }, NOW);
  bench.wait({ id: 'patient', ttftSloMs: 900 }, NOW + 1);
  bench.wait({ id: 'urgent', ttftSloMs: 50 }, NOW + 2);
  bench.wait({ id: 'short', headers }, NOW + 3);
  bench.wait({ id: 'wrong', ttftSloMs: -5 }, NOW + 4);
  return bench.place(NOW + 5).map(({ request }) => request.id);
}

test('[Q43] fcfs serves in the order of arrival', () => {
  expect(orderOf(firstCome)).toEqual(['first', 'patient', 'urgent', 'short', 'wrong']);
});

test('[Q43] edf serves what may wait least, and what may wait for ever last', () => {
  expect(orderOf(earliestDeadline)).toEqual(['short', 'first', 'patient', 'urgent', 'wrong']);
  expect(orderOf(earliestDeadline, Number.POSITIVE_INFINITY)[0]).toBe('short');
});

test('[Q43] slo-deadline serves by the time of the first token, and what names none last', () => {
  expect(orderOf(earliestFirstToken)).toEqual(['urgent', 'patient', 'first', 'short', 'wrong']);
});
