import { describe, expect, it } from 'vitest';
import { answeredResult } from '../../../test/support/answered-result.ts';
import { summarize } from './summarize.ts';

const summaryOf = (lengths: readonly number[]): ReturnType<typeof summarize> =>
  summarize({ requests: lengths.map(answeredResult), durationMs: 1000, preemptions: 0 });

describe('[G276] an answer of one token', () => {
  it('has no part in the mean time of further tokens, as in the chart of them', () => {
    expect(summaryOf([1, 1, 1, 5, 5])).toMatchObject({ tpotMeanMs: 10, ttftMeanMs: 100 });
  });

  it('meets the objective for further tokens', () => {
    expect(summaryOf([1, 5]).goodput).toBe(1);
  });
});
