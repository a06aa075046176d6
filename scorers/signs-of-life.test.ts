import { expect, it } from 'vitest';
import type { Endpoint } from '../src/framework/endpoint.ts';
import { makeContext, makePool, makeRouted, makeRuntime, NOW } from '../test/makers.ts';
import { predictedCost } from './predicted-cost.ts';

type CostScorer = ReturnType<typeof predictedCost.create>;

function newScorer(): CostScorer {
  return predictedCost.create(predictedCost.config.parse({}), makeRuntime());
}

function isUsable(scorer: CostScorer, pool: readonly Endpoint[]): readonly boolean[] {
  return scorer.score(pool, makeContext({ now: NOW })).map((score) => score > 0);
}

const poolOfAges = (...ages: readonly number[]): readonly Endpoint[] =>
  makePool(ages.map((age) => ({ sampledAt: NOW - age })));

it('[Q250] An endpoint whose sample is older than 2 s gets nothing where half of the others have new ones', () => {
  expect(isUsable(newScorer(), poolOfAges(50, 10, 60, 2200))).toEqual([true, true, true, false]);
});

it('[Q250] All are used where they are scraped seldom, in turn', () => {
  expect(isUsable(newScorer(), poolOfAges(500, 1800, 3100, 4400))).toEqual([
    true,
    true,
    true,
    true,
  ]);
});

it.each(['firstToken', 'done'] as const)(
  '[Q250] One that has answered a request which was sent within 2 s works, whatever its sample says: %s',
  (event) => {
    const scorer = newScorer();
    const pool = poolOfAges(50, 10, 60, 6000);
    const routed = { ...makeRouted(pool[3] as Endpoint), at: NOW - 1900 };
    if (event === 'firstToken') scorer.onFirstToken?.(routed, NOW - 1000);
    else scorer.onDone?.(routed, NOW - 1000, 'completed', undefined);
    expect(isUsable(scorer, pool)).toEqual([true, true, true, true]);
  },
);

it('[Q250] A request that it answered long ago, or only broke off, shows nothing', () => {
  const scorer = newScorer();
  const pool = poolOfAges(50, 10, 60, 6000);
  const endpoint = pool[3] as Endpoint;
  scorer.onFirstToken?.({ ...makeRouted(endpoint), at: NOW - 2200 }, NOW - 1000);
  scorer.onDone?.({ ...makeRouted(endpoint), at: NOW - 500 }, NOW - 400, 'aborted', undefined);
  expect(isUsable(scorer, pool)).toEqual([true, true, true, false]);
});
