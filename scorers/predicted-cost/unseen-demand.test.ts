import { describe, expect, it } from 'vitest';
import type { Demand } from '../../src/framework/cycle-facts.ts';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../test/makers.ts';
import { predictedCost } from '../predicted-cost.ts';
import { unseenDemand } from './unseen-demand.ts';

const [SENT, NONE] = [
  { requests: 8, workMs: 400 },
  { requests: 0, workMs: 0 },
];

const modelOf = (unseenTimes: number, demand: readonly Demand[]) => ({
  unseenTimes: () => unseenTimes,
  demand: ({ slot }: { readonly slot: number }) => demand[slot] ?? NONE,
});

describe('unseenDemand', () => {
  const pool = makePool([{}, {}, {}, {}]);

  it('[Q392] is the mean of those that are scored, as often as the time seen is missing', () => {
    const model = modelOf(3, [SENT, NONE, NONE, NONE]);
    expect(unseenDemand(pool, model, 0)).toEqual({ requests: 6, workMs: 300 });
    expect(unseenDemand(pool.slice(0, 2), model, 0)).toEqual({ requests: 12, workMs: 600 });
    expect(unseenDemand(pool.slice(1), model, 0)).toEqual(NONE);
  });

  it('[Q392] is none once some minutes were seen, and where a model does not say', () => {
    const demand = [SENT, SENT, SENT, SENT];
    expect(unseenDemand(pool, modelOf(0.001, demand), 0)).toEqual(NONE);
    const { demand: of } = modelOf(3, demand);
    expect(unseenDemand(pool, { demand: of }, 0)).toEqual(NONE);
  });
});

it('[Q392] in the first seconds a document is computed at no second endpoint that would have to be left to others', () => {
  const scorer = predictedCost.create(predictedCost.config.parse({}), makeRuntime());
  const pool = makePool([{}, {}]);
  const winner = (unseenTimes: number): number => {
    const context = makeContext({
      unseenTimes,
      demand: [NONE, { requests: 0.001, workMs: 0.06 }],
      request: makeRequest({ promptTokens: 6400 }),
      load: [{}, { pendingPrefillTokens: 10_000 }],
      totalBlocks: 100,
      matchedBlocks: [0, 90],
    });
    const [empty = 0, holder = 0] = scorer.score(pool, context);
    return holder > empty ? 1 : 0;
  };
  expect(winner(0)).toBe(0);
  expect(winner(20)).toBe(1);
});
