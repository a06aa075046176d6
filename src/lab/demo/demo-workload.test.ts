import { describe, expect, it } from 'vitest';
import { planWorkload } from './demo-workload.ts';
import type { TraceRow } from './mooncake-trace.ts';

function row(timestampMs: number, hashIds: readonly number[]): TraceRow {
  return { timestampMs, inputTokens: 512 * hashIds.length, outputTokens: 3, hashIds };
}

const ROWS = [
  row(0, [0, 1, 2]),
  row(10, [0, 1]),
  row(20, [0, 9]),
  row(100, [0, 1, 2, 3]),
  row(160, [0, 8]),
  row(200, [0, 7]),
];
const OPTIONS = { fromMs: 100, toMs: 200, arrivalSpeed: 4, warmUpGapMs: 70 };

describe('planWorkload', () => {
  it('measures the window, faster', () => {
    const { measured } = planWorkload(ROWS, OPTIONS);
    expect(measured.map(({ atMs, promptTokens }) => [atMs, promptTokens])).toEqual([
      [0, 2048],
      [15, 1024],
    ]);
  });

  it('warms up with what a measured conversation had said last, and not with a common system prompt', () => {
    const { warmUp } = planWorkload(ROWS, OPTIONS);
    expect(warmUp.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [1536, 1],
    ]);
  });

  it('knows what one endless cache would hit', () => {
    expect(planWorkload(ROWS, OPTIONS).hitRateMax).toBeCloseTo(4 / 6);
  });
});
