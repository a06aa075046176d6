import { describe, expect, it } from 'vitest';
import type { RequestResult } from './run-result.ts';
import { summarize } from './summarize.ts';

/** A request whose first token comes after 100 ms and each further one 10 ms later. */
function answered(outputTokens: number): RequestResult {
  return {
    request: { atMs: 0, promptTokens: 64, outputTokens },
    server: 0,
    attempts: 1,
    ttftMs: 100,
    e2eMs: 100 + 10 * (outputTokens - 1),
    cachedTokens: 0,
    completed: true,
  };
}

const summaryOf = (lengths: readonly number[]): ReturnType<typeof summarize> =>
  summarize({ requests: lengths.map(answered), durationMs: 1000, preemptions: 0 });

describe('[G276] an answer of one token', () => {
  it('has no part in the mean time of further tokens, as in the chart of them', () => {
    expect(summaryOf([1, 1, 1, 5, 5])).toMatchObject({ tpotMeanMs: 10, ttftMeanMs: 100 });
  });

  it('meets the objective for further tokens', () => {
    expect(summaryOf([1, 5]).goodput).toBe(1);
  });
});
