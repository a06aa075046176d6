import { describe, expect, it } from 'vitest';
import type { AnswerEnd } from '../replay/answer-exchange.ts';
import type { OpenLoopResult, SentRequest } from '../replay/open-loop.ts';
import { TimeHistogram } from '../replay/time-histogram.ts';
import { policyResult } from './policy-result.ts';

const CUT: AnswerEnd['lost'] = { kind: 'stopped', message: 'all have begun' };

function sent(
  servedBy: string,
  ttftMs: number,
  promptTokens = 100,
  lost: AnswerEnd['lost'] = CUT,
): SentRequest {
  return {
    request: { atMs: 0, model: '', promptTokens, outputTokens: 1, blockIds: [] },
    lateMs: 1,
    ttftMs,
    e2eMs: ttftMs,
    end: { lost, counted: undefined, chunks: 1, servedBy },
  };
}

function runOf(
  requests: readonly SentRequest[],
  arrivals: OpenLoopResult['arrivals'],
): OpenLoopResult {
  const tokenGaps = new TimeHistogram();
  return { sent: requests, underWayMax: 1, tokenGaps, durationMs: 1, arrivals, stopped: false };
}

describe('policyResult', () => {
  it('counts endpoints that got nothing into the balance', () => {
    const requests = [sent('a', 10), sent('a', 20), sent('b', 30, 400)];
    const run = runOf(requests, { tokens: 50, durationMs: 500 });
    const result = policyResult({ policy: 'p', run, prefixHitRate: 0.5, endpoints: 4 });
    expect(result).toMatchObject({
      requests: 3,
      errors: 0,
      tokensPerSecond: 100,
      ttftMs: { mean: 20, p50: 20, p90: 30, p99: 30 },
    });
    expect(result.balance.requests).toBeCloseTo(2 / 0.75);
    expect(result.balance.promptTokens).toBeCloseTo(400 / 150);
  });

  it('shows an error and leaves its missing first token out', () => {
    const failed = sent('a', Number.NaN, 100, { kind: 'http 503', message: 'none' });
    const run = runOf([failed, sent('a', 10)], { tokens: 1, durationMs: 1000 });
    const result = policyResult({ policy: 'p', run, prefixHitRate: 0, endpoints: 1 });
    expect(result).toMatchObject({ errors: 1, firstError: 'http 503: none', ttftMs: { mean: 10 } });
  });
});
