import { describe, expect, it } from 'vitest';
import type { SentRequest } from './open-loop.ts';
import { policyResult, quantile } from './policy-result.ts';

function sent(endpoint: string, ttftMs: number, promptTokens = 100): SentRequest {
  return { endpoint, ttftMs, promptTokens, error: undefined, lateMs: 1 };
}

describe('policyResult', () => {
  it('counts endpoints that got nothing into the balance', () => {
    const requests = [sent('a', 10), sent('a', 20), sent('b', 30, 400)];
    const run = { requests, tokensWhileArriving: 50, arrivingMs: 500 };
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
    const failed = { ...sent('a', 0), ttftMs: undefined, error: '503 none' };
    const run = { requests: [failed, sent('a', 10)], tokensWhileArriving: 1, arrivingMs: 1000 };
    const result = policyResult({ policy: 'p', run, prefixHitRate: 0, endpoints: 1 });
    expect(result).toMatchObject({ errors: 1, firstError: '503 none', ttftMs: { mean: 10 } });
  });
});

describe('quantile', () => {
  it('is a value that was measured', () => {
    expect(quantile([3, 1, 2], 0.5)).toBe(2);
    expect(quantile([3, 1, 2], 0.99)).toBe(3);
    expect(quantile([], 0.5)).toBe(0);
  });
});
