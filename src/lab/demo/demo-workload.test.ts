import { describe, expect, it } from 'vitest';
import type { TraceRequest } from '../traces/trace.ts';
import { planWorkload } from './demo-workload.ts';

function request(atMs: number, blockIds: readonly number[]): TraceRequest {
  return { atMs, model: '', promptTokens: 512 * blockIds.length, outputTokens: 3, blockIds };
}

const TRACE = {
  blockTokens: 512,
  requests: [
    request(0, [0, 1, 2]),
    request(10, [0, 1]),
    request(20, [0, 9]),
    request(100, [0, 1, 2, 3]),
    request(160, [0, 8]),
    request(200, [0, 7]),
  ],
};
const OPTIONS = { fromMs: 100, toMs: 200, arrivalSpeed: 4, warmUpGapMs: 70 };

describe('planWorkload', () => {
  it('measures the window, faster', () => {
    const { measured } = planWorkload(TRACE, OPTIONS);
    expect(measured.map(({ atMs, promptTokens }) => [atMs, promptTokens])).toEqual([
      [0, 2048],
      [15, 1024],
    ]);
  });

  it('warms up with what a measured conversation had said last, and not with a common system prompt', () => {
    const { warmUp } = planWorkload(TRACE, OPTIONS);
    expect(warmUp.map(({ promptTokens, outputTokens }) => [promptTokens, outputTokens])).toEqual([
      [1536, 1],
    ]);
  });

  it('computes what one endless cache would hit', () => {
    expect(planWorkload(TRACE, OPTIONS).hitRateMax).toBeCloseTo(4 / 6);
  });
});
