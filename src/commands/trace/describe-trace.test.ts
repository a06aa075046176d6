import { describe, expect, it } from 'vitest';
import type { Trace, TraceRequest } from '../../lab/traces/trace.ts';
import { describeTrace } from './describe-trace.ts';
import { descriptionText } from './description-text.ts';

const request = (atMs: number, more: Partial<TraceRequest> = {}): TraceRequest => ({
  atMs,
  model: '',
  promptTokens: 100,
  outputTokens: 10,
  blockIds: [],
  ...more,
});

const traceOf = (requests: readonly TraceRequest[]): Trace => ({
  blockTokens: 64,
  requests,
  repaired: 0,
  notes: [],
});

describe('[G209] the description of a trace', () => {
  it('says how much of the prompts begins an earlier prompt to the same model', () => {
    const on = (model: string, blockIds: readonly number[]): TraceRequest =>
      request(0, { model, blockIds, promptTokens: 64 * blockIds.length });
    const prompts = [on('a', [1, 2]), on('a', [1, 2, 3]), on('b', [1, 2]), on('a', [2, 1])];
    expect(describeTrace(traceOf(prompts)).prefixes).toEqual({
      blockTokens: 64,
      sharedTokens: 2 / 9,
      sharingRequests: 1 / 4,
      distinctTokens: 7 * 64,
    });
    expect(describeTrace(traceOf([request(0)])).prefixes).toBe(undefined);
  });

  it('says when requests arrive, also over a day without any', () => {
    const day = 86_400_000;
    const times = [0, 10, 500, 1000, 59_999, 60_000, 60_000 + day];
    expect(describeTrace(traceOf(times.map((at) => request(at)))).arrivals).toEqual({
      perSecond: 7000 / (60_000 + day),
      mostInASecond: 3,
      mostInAMinute: 5,
      emptySeconds: 1 - 5 / 86_461,
      longestPauseMs: day,
      longestPauseAtMs: 60_000,
    });
    expect(describeTrace(traceOf([request(0), request(0)])).arrivals).toBe(undefined);
  });

  it('counts sessions that the trace names, or else those that its prompts continue', () => {
    const named = [request(0, { session: 's' }), request(1, { session: 's' }), request(2)];
    const turns = { count: 1, mean: 2, min: 2, p50: 2, p90: 2, p99: 2, max: 2 };
    expect(describeTrace(traceOf(named)).sessions).toEqual({
      by: 'trace',
      count: 1,
      ofSeveral: 1,
      turns,
    });
    const continued = [
      request(0, { blockIds: [1, 2], promptTokens: 130 }),
      request(1, { blockIds: [1, 2, 3], promptTokens: 200 }),
      request(2, { blockIds: [9], promptTokens: 64 }),
    ];
    const { sessions } = describeTrace(traceOf(continued));
    expect(sessions).toMatchObject({ by: 'prompts', count: 2, ofSeveral: 1 });
    expect(describeTrace(traceOf([request(0)])).sessions).toBe(undefined);
  });

  it('is a text that a person can read', () => {
    const seen = { outcome: 'completed', ttftMs: 80, e2eMs: 900 } as const;
    const one = { model: 'llama', blockIds: [1, 2], promptTokens: 150, fairnessId: 'blue', seen };
    const trace = traceOf([
      request(0, one),
      request(400, { ...one, priority: -1 }),
      request(90_000, { model: 'qwen', seen: { outcome: 'failed' } }),
    ]);
    expect(descriptionText(describeTrace(trace))).toMatchInlineSnapshot(`
      "3 requests over 90 s (0.0333/s), prompts of 133 tokens and answers of 10 on average

                                            mean  least  median  90 %  99 %  most
        prompt tokens                        133    100     150   150   150   150
        answer tokens                       10.0     10      10    10    10    10
        requests of a session               1.00      1       1     1     1     1
        ms to the first token, as recorded  80.0     80      80    80    80    80
        ms to the end, as recorded           900    900     900   900   900   900

      arrivals: at most 2 in a second and 2 in a minute; none in 97.8 % of the seconds; the longest pause is 89.6 s, 400 ms after the first
      shared prefixes: 32.0 % of the prompt tokens, in 33.3 % of the requests, begin an earlier prompt to the same model; a cache that is to hold all of them needs room for 128 tokens (blocks of 64)
      sessions: 3, of which 0 have several requests (a prompt that continues an earlier one is its next turn)
      models: llama (2, 66.7 %), qwen (1, 33.3 %)
      priorities: -1 (1, 33.3 %), 2 requests without
      fairness ids: blue (2, 66.7 %), 1 request without
      outcomes: completed (2, 66.7 %), failed (1, 33.3 %)
      "
    `);
  });
});
