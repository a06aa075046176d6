import { describe, expect, it } from 'vitest';
import { capacityOf, isInTime, saturationOf } from './capacity.ts';
import { PRIOR_STEP_TIME } from './step-time.ts';

const OBJECTIVE = { ttftMs: 2000, tpotMs: 100 };
const MIX = {
  promptTokens: 1000,
  uncachedTokens: 1000,
  uncachedSquares: 2e6,
  outputTokens: 200,
  inTime: { share: 1, promptTokens: 1000, uncachedTokens: 1000 },
};
const ABOUT = { engine: PRIOR_STEP_TIME, mix: MIX, objective: OBJECTIVE };
const MEMORY = { heldTokens: 0, capacityTokens: 400_000 };
const IDLE = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
const INPUT = {
  ...ABOUT,
  engines: 8,
  capacityTokens: Number.POSITIVE_INFINITY,
  maxConcurrency: Number.POSITIVE_INFINITY,
};

describe('saturationOf', () => {
  it('[Q104] passes 1 where one more first token, step or memory would exceed its bound', () => {
    expect(saturationOf(IDLE, MEMORY, ABOUT)).toBeLessThan(0.2);
    // 2 s of prompts, of which each token takes 0.04 ms.
    const queued = { ...IDLE, requests: 10, pendingPrefillTokens: 50_000 };
    expect(saturationOf(queued, MEMORY, ABOUT)).toBeGreaterThan(1);
    // 6 ms, 0.05 ms for each answer and 0.00002 ms for each token of context: more than 100 ms.
    const crowded = { ...IDLE, requests: 1500, contextTokens: 1_500_000 };
    expect(saturationOf(crowded, { ...MEMORY, capacityTokens: 1e9 }, ABOUT)).toBeGreaterThan(1);
    const full = { heldTokens: 399_500, capacityTokens: 400_000 };
    expect(saturationOf(IDLE, full, ABOUT)).toBeGreaterThan(1);
  });

  it('[Q104] grows with each request that comes', () => {
    const at = (requests: number): number =>
      saturationOf(
        { requests, pendingPrefillTokens: 1000 * requests, contextTokens: 1000 * requests },
        MEMORY,
        ABOUT,
      );
    for (let requests = 1; requests < 60; requests++) {
      expect(at(requests)).toBeGreaterThanOrEqual(at(requests - 1));
    }
  });
});

describe('capacityOf', () => {
  it('[Q105] is the rate that leaves time for steps as short as the objective', () => {
    const { requestsPerMs, limit } = capacityOf({
      ...INPUT,
      objective: { ttftMs: 1e9, tpotMs: 12 },
    });
    expect(limit).toBe('next-token');
    // Half of the time is left for the fixed 6 ms of steps that take 12 ms.
    const workMs = 1000 * 0.04 + 200 * (0.05 + 0.00002 * 1100);
    expect(requestsPerMs).toBeCloseTo(0.5 / workMs, 6);
  });

  it('[Q105] is less with longer prompts, fewer endpoints, less memory and a bound in flight', () => {
    const { requestsPerMs } = capacityOf(INPUT);
    const size = { promptTokens: 10_000, uncachedTokens: 10_000 };
    const long = { ...MIX, ...size, uncachedSquares: 2e8, inTime: { ...size, share: 1 } };
    const less = [
      capacityOf({ ...INPUT, mix: long }),
      capacityOf({ ...INPUT, engines: 1 }),
      capacityOf({ ...INPUT, capacityTokens: 10_000 }),
      capacityOf({ ...INPUT, maxConcurrency: 2 }),
    ];
    for (const each of less) expect(each.requestsPerMs).toBeLessThan(requestsPerMs);
    expect(less.map(({ limit }) => limit)).toEqual([
      'first-token',
      'first-token',
      'memory',
      'concurrency',
    ]);
  });

  it('[Q291] does not count first tokens that even an idle engine misses', () => {
    // 5 s of computing each: more endpoints would not help.
    const size = { promptTokens: 125_000, uncachedTokens: 125_000 };
    const late = { ...MIX, ...size, uncachedSquares: 3.2e10, inTime: { ...size, share: 0 } };
    const { engine } = ABOUT;
    expect(isInTime(size, engine, OBJECTIVE)).toBe(false);
    expect(isInTime({ promptTokens: 125_000, uncachedTokens: 1000 }, engine, OBJECTIVE)).toBe(true);
    const at = (engines: number): number =>
      capacityOf({ ...INPUT, mix: late, engines }).requestsPerMs;
    expect(at(2)).toBe(at(100));
    expect(
      saturationOf(IDLE, { ...MEMORY, capacityTokens: 1e9 }, { ...ABOUT, mix: late }),
    ).toBeLessThan(1);
    // Those that could be in time count, and wait for the others.
    const mixed = { ...late, inTime: { ...MIX.inTime, share: 0.5 } };
    const few = capacityOf({ ...INPUT, mix: mixed, engines: 4 });
    expect(few.requestsPerMs).toBeLessThan(at(4));
    expect(capacityOf({ ...INPUT, mix: mixed, engines: 100 }).requestsPerMs).toBeGreaterThan(
      few.requestsPerMs,
    );
  });

  it('[Q105] does not count a time per token that even an idle engine misses', () => {
    const { requestsPerMs, limit } = capacityOf({
      ...INPUT,
      objective: { ttftMs: 2000, tpotMs: 5 },
    });
    expect(requestsPerMs).toBeGreaterThan(0);
    expect(limit).toBe('first-token');
  });
});
