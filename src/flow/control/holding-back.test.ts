import { expect, test } from 'vitest';
import { FlowControlBench } from '../../../test/decision/flow-control-bench.ts';
import { holdback } from './saturation/usage-limits.ts';

test('[O537] flow control holds back while requests wait and no band is open, and not where only low ones wait', () => {
  const usageLimit = () => holdback({ minCeiling: 0.25, maxCeiling: 1, domain: 'rank' });
  const bench = new FlowControlBench({ usageLimit }, 4);
  expect(bench.control.isHoldingBack).toBe(false);
  for (let count = 0; count < 4; count++) bench.wait({ priority: -1 });
  bench.wait({ priority: 1 });
  bench.place();
  expect([bench.control.size, bench.control.isHoldingBack]).toEqual([4, false]);
  for (let count = 0; count < 4; count++) bench.wait({ priority: 1 });
  bench.place();
  expect([bench.control.size, bench.control.isHoldingBack]).toEqual([5, true]);
  bench.inFlight = 0;
  bench.place();
  expect(bench.control.isHoldingBack).toBe(false);
});
