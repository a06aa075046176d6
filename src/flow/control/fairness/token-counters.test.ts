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
