import { describe, expect, it } from 'vitest';
import { compareDisaggregation } from '../../bench/scenarios/compare-disaggregation.ts';
import { tellFigure } from '../support/figure.ts';

describe('prefill decided by cost, compared with always and never on another server', () => {
  it.for([
    ['2 prefill, 6 decode', 1000, 60],
    ['2 prefill, 6 decode', 4000, 35],
    ['4 prefill, 4 decode', 4000, 10],
    ['4 prefill, 4 decode', 12_000, 8],
    ['8 that do both', 4000, 25],
    ['8 that do both', 4000, 45],
  ] as const)('%s, %i tokens, %i a second: at most 1.1 of the better', (point, context) => {
    const [pool, promptTokens, perSecond] = point;
    const load = { pool, promptTokens, perSecond, requests: 500, seeds: [1] };
    const { ttftRatio, e2eRatio } = compareDisaggregation(load);
    tellFigure(context, {
      what: `prefill by cost, ${pool}, ${promptTokens} tokens, ${perSecond}/s: TTFT, E2E`,
      promised: '≤ 1.1 of the better',
      measured: `${ttftRatio.toFixed(2)}, ${e2eRatio.toFixed(2)}`,
    });
    expect(ttftRatio).toBeLessThan(1.1);
    expect(e2eRatio).toBeLessThan(1.1);
  });
});
