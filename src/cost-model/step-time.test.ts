import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PRIOR_STEP_TIME, predictedTtftMs, promptMs } from './step-time.ts';

const IDLE = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
const tokens = fc.integer({ min: 0, max: 200_000 });

describe('the time of a prompt', () => {
  it('[Q180] is the same in one piece and in two, of which the second finds the first cached', () => {
    fc.assert(
      fc.property(tokens, tokens, (head, rest) => {
        const promptTokens = head + rest;
        const whole = promptMs({ promptTokens, uncachedTokens: promptTokens });
        const first = promptMs({ promptTokens: head, uncachedTokens: head });
        const second = promptMs({ promptTokens, uncachedTokens: rest });
        expect(first + second).toBeCloseTo(whole, 3);
      }),
      { seed: 3 },
    );
  });

  it('[Q180] is longer for the same tokens behind a longer cached beginning', () => {
    const behind = (cached: number): number =>
      promptMs({ promptTokens: cached + 1000, uncachedTokens: 1000 });
    expect(behind(100_000)).toBeGreaterThan(2 * behind(0));
  });

  it('[Q180] is part of the predicted first token', () => {
    const prompt = { promptTokens: 40_000, uncachedTokens: 10_000 };
    const { perPrefillTokenMs, baseMs } = PRIOR_STEP_TIME;
    const attention = 5e-7 * (40_000 ** 2 - 30_000 ** 2);
    expect(predictedTtftMs(IDLE, prompt)).toBeCloseTo(
      perPrefillTokenMs * 10_000 + attention + 2 * baseMs,
      6,
    );
  });
});
