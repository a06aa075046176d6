import { expect, test } from 'vitest';
import { FlowControlBench, makeBand } from '../../../../test/decision/flow-control-bench.ts';
import { NOW } from '../../../../test/makers.ts';
import type { Waiting } from '../../discipline.ts';

const flowsOf = (waiting: readonly Waiting[]): string =>
  waiting.map(({ request }) => request.fairnessId).join(' ');

test('[Q46] a long answer puts its flow behind at its end, also while the flow is the next one', () => {
  const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'tokens' }) }, 3);
  const promptTokens = 10;
  for (let n = 0; n < 3; n++) bench.wait({ fairnessId: 'a', promptTokens, outputTokensMax: 1 });
  for (let n = 0; n < 2; n++) bench.wait({ fairnessId: 'b', promptTokens });
  const [first, ...others] = bench.place();
  expect(flowsOf([first as Waiting, ...others])).toBe('a b a');
  bench.end(first as Waiting, NOW, { outputTokens: 9000 });
  expect(flowsOf(bench.place())).toBe('b');
});

test('[Q310] what a request is charged with is made up for by its real tokens, once', () => {
  const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'tokens' }) });
  for (const fairnessId of ['a', 'b', 'a', 'b']) bench.wait({ fairnessId, promptTokens: 100 });
  const [first] = bench.place();
  bench.end(first as Waiting, NOW, { outputTokens: 5 });
  // An end that is said twice corrects once.
  bench.inFlight += 1;
  bench.end(first as Waiting, NOW, { outputTokens: 5000 });
  bench.end(bench.place()[0] as Waiting, NOW, { outputTokens: 6 });
  expect(flowsOf(bench.place())).toBe('a');
});

test('[Q310] an answer is expected to be as long as those before it, and no longer than it may be', () => {
  const order = (outputTokensMax: number | undefined): string => {
    const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'tokens' }) }, 3);
    for (let n = 0; n < 2; n++) {
      bench.wait({ fairnessId: 'a', promptTokens: 1, outputTokensMax });
      bench.wait({ fairnessId: 'b', promptTokens: 120, outputTokensMax: 1 });
    }
    return flowsOf(bench.place());
  };
  expect(order(20)).toBe('a b a');
  for (const max of [200, 1000, undefined]) expect(order(max)).toBe('a b b');

  const bench = new FlowControlBench({ defaultBand: makeBand({ fairness: 'tokens' }) }, 4);
  const one = (fairnessId: string): void => {
    bench.wait({ fairnessId, promptTokens: 1 });
    for (const placed of bench.place()) bench.end(placed, NOW, { outputTokens: 1 });
  };
  for (let n = 0; n < 60; n++) for (const fairnessId of ['short', 'other']) one(fairnessId);
  for (let n = 0; n < 3; n++) bench.wait({ fairnessId: 'short', promptTokens: 1 });
  for (let n = 0; n < 2; n++) bench.wait({ fairnessId: 'other', promptTokens: 30 });
  expect(flowsOf(bench.place())).toBe('short other short short');
});
