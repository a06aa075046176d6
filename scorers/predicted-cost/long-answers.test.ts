import { describe, expect, it } from 'vitest';
import { PRIOR_STEP_TIME } from '../../src/cost-model/step-time.ts';
import type { AttributeKey } from '../../src/framework/endpoint.ts';
import { CACHE_CONFIG } from '../../src/framework/endpoint-attributes.ts';
import { makeContext, makePool, makeRequest, makeRuntime, NOW } from '../../test/makers.ts';
import { predictedCost } from '../predicted-cost.ts';

interface Server {
  /** Answers under way. */
  readonly requests: number;
  /** Requests of the last half minute. */
  readonly recent: number;
  readonly blocks: number;
  /** Duration of a step: an answer takes 256 of them. */
  readonly stepMs: number;
}

const USUAL: Server = { requests: 20, recent: 2, blocks: 25_000, stepMs: 400 };

/** By how much a request on the first server delays later ones there that wait for memory. */
function delayMs(...differences: readonly Partial<Server>[]): number {
  const servers = differences.map((each) => ({ ...USUAL, ...each }));
  const pool = makePool(
    servers.map(({ blocks }) => ({
      sampledAt: NOW,
      kv: 0.95,
      attributes: [[CACHE_CONFIG as AttributeKey<never>, { blocks, blockTokens: 16 }]] as const,
    })),
  );
  const context = makeContext({
    now: NOW,
    request: makeRequest({ promptTokens: 500 }),
    demand: servers.map(({ recent }) => ({ requests: recent / 30_000, workMs: 0.1 })),
    load: servers.map(({ requests }) => ({ requests, contextTokens: requests * 756 })),
    stepTimes: servers.map(({ stepMs }) => ({ ...PRIOR_STEP_TIME, baseMs: stepMs })),
  });
  const scorer = predictedCost.create(predictedCost.config.parse({}), makeRuntime());
  scorer.score(pool, context);
  const [first] = pool;
  const terms = first && scorer.explain?.(first, context);
  return Number(terms?.['memoryDelayForOthersMs']);
}

describe('predicted-cost-scorer where answers take minutes and memory is short', () => {
  it('[Q261] expects as many later requests where few came of late as where many did', () => {
    expect(delayMs({ recent: 1 }, { recent: 5 })).toBe(delayMs({ recent: 5 }, { recent: 1 }));
    expect(delayMs({ recent: 1 }, {})).toBeGreaterThan(0);
  });

  it('[Q261] counts by what came of late where answers are short', () => {
    const stepMs = 100;
    const ratio = delayMs({ recent: 4, stepMs }, {}) / delayMs({ recent: 2, stepMs }, {});
    expect(ratio).toBeCloseTo(2, 9);
  });

  it('[Q261] expects by the requests in flight on all servers, wherever these are', () => {
    const spread = delayMs({}, {}, {});
    expect(delayMs({}, { requests: 40 }, { requests: 0 })).toBeCloseTo(spread, 9);
    expect(delayMs({}, { requests: 50 }, { requests: 50 })).toBeCloseTo(2 * spread, 9);
  });

  it('[Q261] expects fewer where another server has more of the memory, however fast that is', () => {
    const alike = delayMs({}, {});
    // Of 40 in flight a server with a quarter of the memory is expected to get 10, and not 20.
    expect(delayMs({}, { blocks: 75_000 })).toBeCloseTo(alike / 2, 9);
    expect(delayMs({}, { stepMs: 100 })).toBe(alike);
  });
});

interface Filled {
  readonly kv: number;
  /** Requests in flight whose first tokens were seen. */
  readonly begun: number;
  /** Requests that the server reports as running. */
  readonly running: number;
}

/** The scores of servers whose answers, of 256 tokens each, take 100 s. */
function scoresWhereFilled(...servers: readonly Filled[]): readonly number[] {
  const memory = { blocks: 2500, blockTokens: 16 };
  const attributes = [[CACHE_CONFIG as AttributeKey<never>, memory]] as const;
  const pool = makePool(
    servers.map(({ kv, running }) => ({ sampledAt: NOW, kv, running, attributes })),
  );
  const context = makeContext({
    now: NOW,
    request: makeRequest({ promptTokens: 500 }),
    demand: servers.map(() => ({ requests: 2 / 30_000, workMs: 0.1 })),
    // Ours hold all that is in use: no other picker sends there.
    load: servers.map(({ kv, begun }) => ({
      requests: begun,
      begunRequests: begun,
      contextTokens: kv * 40_000,
    })),
    stepTimes: servers.map(() => ({ ...PRIOR_STEP_TIME, baseMs: 400 })),
  });
  return predictedCost.create(predictedCost.config.parse({}), makeRuntime()).score(pool, context);
}

describe('predicted-cost-scorer where answers fill the memory', () => {
  it('[Q294] goes where memory is free now, although more answers grow there', () => {
    const full = { kv: 0.98, begun: 30, running: 30 };
    const [atFull = 0, atFree] = scoresWhereFilled(full, { kv: 0.85, begun: 120, running: 120 });
    expect(atFree).toBe(1);
    expect(atFull).toBeLessThan(0.5);
  });

  it('[Q295] goes where no answer waits to take its memory again', () => {
    const usual = { kv: 0.95, begun: 40, running: 40 };
    const [waiting = 0, none] = scoresWhereFilled({ ...usual, running: 32 }, usual);
    expect(none).toBe(1);
    expect(waiting).toBeLessThan(0.5);
  });

  it('[Q295] relies on no server that says that nothing runs, or more than we have sent', () => {
    const usual = { kv: 0.95, begun: 40, running: 40 };
    const scores = scoresWhereFilled(usual, { ...usual, running: 0 }, { ...usual, running: 60 });
    expect(scores).toEqual([1, 1, 1]);
  });
});
