import { describe, expect, test } from 'vitest';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { sampledShare, TraceIds } from './trace-ids.ts';

describe('ids of traces', () => {
  test('[O81] have the digits of W3C Trace Context, and are never all zeros', () => {
    const ids = new TraceIds(seededRandom(7));
    expect(ids.traceId()).toMatch(/^[0-9a-f]{32}$/);
    expect(ids.spanId()).toMatch(/^[0-9a-f]{16}$/);
    expect(new Set(Array.from({ length: 1000 }, () => ids.traceId())).size).toBe(1000);
    const zeros = { next: () => 0, fork: () => zeros };
    expect(new TraceIds(zeros).spanId()).not.toMatch(/^0+$/);
  });

  test.each([0, 0.1, 0.5, 1])('[O83] a share of %s of them is sampled', (share) => {
    const ids = new TraceIds(seededRandom(11));
    const sampled = sampledShare(share);
    const traces = Array.from({ length: 10_000 }, () => ids.traceId());
    const part = traces.filter(sampled).length / traces.length;
    expect(Math.abs(part - share)).toBeLessThan(share > 0 && share < 1 ? 0.02 : 1e-9);
    // The same trace has the same answer, and a larger share has all of a smaller one.
    const larger = sampledShare(Math.min(1, 2 * share));
    expect(traces.filter(sampled).every(larger)).toBe(true);
  });
});
