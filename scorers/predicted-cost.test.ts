import { describe, expect, it } from 'vitest';
import { PRIOR_STEP_TIME } from '../src/cost-model/step-time.ts';
import type { Demand, InFlightLoad, StepTime } from '../src/framework/cycle-facts.ts';
import type { AttributeKey, Endpoint } from '../src/framework/endpoint.ts';
import { LORA, type LoraState } from '../src/framework/endpoint-attributes.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NEVER,
  NOW,
} from '../test/makers.ts';
import { predictedCost } from './predicted-cost.ts';

interface Situation extends Partial<InFlightLoad> {
  readonly matchedBlocks?: number;
  readonly sampledAt?: number;
  readonly kv?: number;
  readonly demand?: Demand;
  readonly stepTime?: StepTime;
  readonly lora?: LoraState;
  readonly models?: ReadonlyMap<string, number>;
}

type CostScorer = ReturnType<typeof predictedCost.create>;

function newScorer(): CostScorer {
  return predictedCost.create(predictedCost.config.parse({}), makeRuntime());
}

function worldOf(
  situations: readonly Situation[],
  now = NOW,
): { pool: readonly Endpoint[]; context: SchedulingContext } {
  const pool = makePool(
    situations.map(({ sampledAt = now, kv = 0, lora }) => ({
      sampledAt,
      kv,
      attributes: [[LORA as AttributeKey<never>, lora]] as const,
    })),
  );
  const context = makeContext({
    now,
    demand: situations.map(({ demand = {} }) => demand),
    request: makeRequest({ promptTokens: 6400 }),
    load: situations,
    totalBlocks: 100,
    matchedBlocks: situations.map(({ matchedBlocks = 0 }) => matchedBlocks),
    models: situations.map(({ models = new Map() }) => models),
    stepTimes: situations.map(({ stepTime = PRIOR_STEP_TIME }) => stepTime),
  });
  return { pool, context };
}

function scoresOf(
  situations: readonly Situation[],
  { scorer = newScorer(), now = NOW }: { scorer?: CostScorer; now?: number } = {},
): readonly number[] {
  const { pool, context } = worldOf(situations, now);
  return scorer.score(pool, context);
}

function best(situations: readonly Situation[]): number {
  const scores = scoresOf(situations);
  return scores.indexOf(Math.max(...scores));
}

const adapters = (max: number, ...running: readonly string[]): LoraState => ({
  max,
  running: new Set(running),
  waiting: new Set(),
});

describe('predicted-cost-scorer', () => {
  it('goes where the prompt is cached while that endpoint is little busier', () => {
    expect(best([{ requests: 2 }, { requests: 4, matchedBlocks: 90 }])).toBe(1);
  });

  it('leaves the cached copy when the work waiting there costs more than computing it again', () => {
    expect(best([{}, { pendingPrefillTokens: 200_000, matchedBlocks: 90 }])).toBe(0);
  });

  it('holds on to the cached copy the longer, the more comes of late', () => {
    const winner = (requests: number, workMs: number): number =>
      best([
        { demand: { requests, workMs } },
        { demand: { requests, workMs }, pendingPrefillTokens: 10_000, matchedBlocks: 90 },
      ]);
    expect(winner(0, 0)).toBe(0);
    expect(winner(0.01, 0.6)).toBe(1);
    expect(winner(0.01, 5)).toBe(1);
  });

  it('puts a long prompt where fewer come who would have to wait for it', () => {
    const busy = { demand: { requests: 0.02, workMs: 0.5 } };
    const calm = { demand: { requests: 0.002, workMs: 0.5 }, pendingPrefillTokens: 2000 };
    expect(best([busy, calm])).toBe(1);
  });

  it('computes a prompt rather where fewer answers are under way, which stand still meanwhile', () => {
    expect(best([{ requests: 30 }, { requests: 4, pendingPrefillTokens: 2000 }])).toBe(1);
  });

  it('counts what was just sent: of two alike, the one with work waiting loses', () => {
    expect(best([{ requests: 1, pendingPrefillTokens: 500 }, {}])).toBe(1);
  });

  it('avoids an endpoint whose KV memory is nearly full', () => {
    const busy = { requests: 9, contextTokens: 388_000 };
    expect(best([{ ...busy, kv: 0.97, matchedBlocks: 20 }, busy])).toBe(1);
  });

  it('[Q401] avoids an endpoint that requests of others have filled, which has none of ours', () => {
    expect(best([{ kv: 0.95 }, {}])).toBe(1);
    expect(best([{ kv: 0.99, matchedBlocks: 20 }, {}])).toBe(1);
  });

  it('takes the count of the engine, which has what requests share once, and its own where there is none', () => {
    const crowded = { requests: 9, contextTokens: 500_000, matchedBlocks: 50 };
    expect(best([{ ...crowded, kv: 0.2 }, { requests: 9 }])).toBe(0);
    const [shared = 0, other = 1] = scoresOf([
      { ...crowded, sampledAt: NEVER },
      { requests: 9, sampledAt: NEVER },
    ]);
    expect(shared).toBeLessThan(other);
  });

  it('sends more to the endpoint that has shown to be faster', () => {
    const slow = { ...PRIOR_STEP_TIME, perPrefillTokenMs: 0.12, baseMs: 18 };
    expect(best([{ stepTime: slow }, { pendingPrefillTokens: 3000 }])).toBe(1);
    expect(best([{ stepTime: slow }, { pendingPrefillTokens: 30_000 }])).toBe(0);
  });

  it('prefers a server whose batch has the adapter, then one with a slot, then the one with the fewest waiting', () => {
    const at = (lora: LoraState, ...ours: readonly string[]): Situation => ({
      lora,
      models: new Map(ours.map((model) => [model, 1])),
    });
    const holds = at(adapters(2, 'm', 'x'), 'm', 'x');
    const open = at(adapters(2, 'x'), 'x');
    const full = at(adapters(2, 'x', 'y'), 'x', 'y');
    const crowded = at(adapters(2, 'x', 'y'), 'x', 'y', 'z');
    expect(best([crowded, full, open, holds])).toBe(3);
    const elsewhere = at(adapters(9, 'm'), 'm', 'x', 'y', 'z');
    const scores = scoresOf([crowded, full, open, elsewhere]);
    expect(scores[2]).toBeGreaterThan(scores[1] ?? 1);
    expect(scores[1]).toBeGreaterThan(scores[0] ?? 1);
  });

  it('[Q172] sends a request where its adapter was used last, though it does not run there any more', () => {
    const scorer = newScorer();
    const idle = { lora: adapters(2) };
    const { pool: before } = worldOf([idle, { lora: adapters(2, 'm') }]);
    const { pool, context } = worldOf([idle, { ...idle, pendingPrefillTokens: 500 }]);
    const best = (): number => {
      const scores = scorer.score(pool, context);
      return scores.indexOf(Math.max(...scores));
    };
    expect(best()).toBe(0);
    const [now, ran] = [pool[1], before[1]];
    if (now === undefined || ran === undefined) throw new Error('no endpoint');
    scorer.onEndpointChanged?.(ran, now);
    expect(best()).toBe(1);
  });

  it('gives an endpoint never scraped, or long not scraped, nothing while another is known', () => {
    expect(scoresOf([{ sampledAt: NEVER }, { requests: 50 }, { sampledAt: -5000 }])).toEqual([
      0, 1, 0,
    ]);
  });

  it('still distinguishes endpoints by its own ledger when none was ever scraped', () => {
    const unknown = { sampledAt: NEVER };
    expect(best([{ ...unknown, requests: 9, pendingPrefillTokens: 9000 }, unknown])).toBe(1);
  });

  it('shuns an endpoint that just failed, for longer with each failure, until one succeeds', () => {
    const scorer = newScorer();
    const [endpoint] = makePool([{}, {}]);
    if (endpoint === undefined) throw new Error('no endpoint');
    const routed = makeRouted(endpoint);
    const prefers = (now: number): number => {
      const scores = scoresOf([{ matchedBlocks: 100 }, {}], { scorer, now });
      return scores.indexOf(Math.max(...scores));
    };
    expect(prefers(NOW)).toBe(0);
    scorer.onDone?.(routed, NOW, 'failed', undefined);
    expect(prefers(NOW + 499)).toBe(1);
    expect(prefers(NOW + 501)).toBe(0);
    const next = makeRouted(endpoint, { at: NOW + 500 });
    scorer.onDone?.(next, NOW + 501, 'failed', undefined);
    expect(prefers(NOW + 1400)).toBe(1);
    scorer.onDone?.(routed, NOW + 1400, 'completed', undefined);
    expect(prefers(NOW + 1400)).toBe(0);
  });

  it('explains its scores by terms that add up to the cost, to the last bit what it scored by', () => {
    const scorer = newScorer();
    const demand = { requests: 0.01, workMs: 0.7 };
    const { pool, context } = worldOf([
      { matchedBlocks: 40, requests: 3, kv: 0.95, pendingPrefillTokens: 900, demand },
      { sampledAt: NEVER },
      { stepTime: { ...PRIOR_STEP_TIME, overheadMs: 7, baseMs: 11 } },
      { lora: adapters(2, 'm', 'x'), models: new Map([['y', 1]]) },
    ]);
    const scores = scorer.score(pool, context);
    const costs = pool.map((endpoint) => {
      const terms = scorer.explain?.(endpoint, context) ?? {};
      const { costMs = 0 } = terms;
      const sum = Object.entries(terms).reduce(
        (total, [name, value]) =>
          name.endsWith('Ms') && name !== 'costMs' ? total + value : total,
        0,
      );
      expect(sum).toBeCloseTo(costMs, 6);
      return costMs;
    });
    const fresh = costs.filter((_, index) => index !== 1);
    expect(scores).toEqual(
      costs.map((cost, index) => (index === 1 ? 0 : Math.min(...fresh) / cost)),
    );
    expect(scorer.score(pool, context)).toEqual(scores);
  });
});
