import { expect, it } from 'vitest';
import type { Endpoint } from '../../src/framework/endpoint.ts';
import type { InferenceRequest } from '../../src/framework/request.ts';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NOW,
} from '../../test/makers.ts';
import { predictedCost } from '../predicted-cost.ts';

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

it('[Q278] One whose samples have been as old before, beside new ones of others, is used', () => {
  const scorer = newScorer();
  const decide = (at: number, sampledAt: number): readonly number[] => {
    const pool = makePool(
      [at - 50, at - 10, at - 60, sampledAt].map((each) => ({ sampledAt: each })),
    );
    const request = makeRequest({ id: `at ${at}` });
    const scores = scorer.score(pool, makeContext({ now: at, request }));
    scorer.onRouted?.({ ...makeRouted(pool[0] as Endpoint), request, at });
    return scores;
  };
  const isUsed = (at: number, sampledAt: number): boolean => Number(decide(at, sampledAt)[3]) > 0;
  // Its page takes 3 s, one after the other.
  expect(isUsed(NOW + 5900, NOW)).toBe(false);
  expect(isUsed(NOW + 6100, NOW + 3000)).toBe(false);
  expect(isUsed(NOW + 6200, NOW + 3000)).toBe(true);
  expect(isUsed(NOW + 8900, NOW + 3000)).toBe(true);
  // None comes any more.
  expect(isUsed(NOW + 14_700, NOW + 3000)).toBe(true);
  expect(isUsed(NOW + 14_900, NOW + 3000)).toBe(false);
});

it('[Q278] How old samples have been is forgotten with newer ones', () => {
  const scorer = newScorer();
  let isUsed = false;
  for (let step = 0; step <= 40; step += 1) {
    const at = NOW + 2500 * step;
    // One was 20 s old; those after it are 2.5 s old when the next one comes.
    const sampledAt = step === 0 ? at - 20_000 : at - 2500;
    const pool = makePool(
      [at - 50, at - 10, at - 60, sampledAt].map((each) => ({ sampledAt: each })),
    );
    const request = makeRequest({ id: `at ${at}` });
    scorer.score(pool, makeContext({ now: at, request }));
    scorer.onRouted?.({ ...makeRouted(pool[0] as Endpoint), request, at });
    const later = makeContext({ now: at + 5000, request });
    isUsed = Number(scorer.score(poolAt(pool, at + 5000), later)[3]) > 0;
    if (step === 1) expect(isUsed).toBe(true);
  }
  expect(isUsed).toBe(false);
});

it('[Q278] It learns of a request that is sent after another one without old samples', () => {
  const scorer = newScorer();
  const usedAt = (at: number, sampledAt: number, isBetween: boolean): boolean => {
    const pool = makePool(
      [at - 50, at - 10, at - 60, sampledAt].map((each) => ({ sampledAt: each })),
    );
    const [request, other] = [makeRequest({ id: `at ${at}` }), makeRequest({ id: `after ${at}` })];
    const scores = scorer.score(pool, makeContext({ now: at, request }));
    const routed = { ...makeRouted(pool[0] as Endpoint), at };
    if (isBetween) {
      scorer.score(pool.slice(0, 3), makeContext({ now: at, request: other }));
      scorer.onRouted?.({ ...routed, request: other });
    }
    scorer.onRouted?.({ ...routed, request });
    return Number(scores[3]) > 0;
  };
  expect(usedAt(NOW + 2900, NOW, true)).toBe(false);
  expect(usedAt(NOW + 6000, NOW + 3000, false)).toBe(false);
  expect(usedAt(NOW + 6200, NOW + 3000, false)).toBe(true);
});

it('[Q247] [Q278] It learns of the last decision about a request that waited, and of none before', () => {
  const scorer = newScorer();
  const score = (request: InferenceRequest, now: number, sampledAt: number): number => {
    const pool = poolAt(makePool([{}, {}, {}, { sampledAt }]), now);
    return scorer.score(pool, makeContext({ now, request }))[3] ?? 0;
  };
  const send = (request: InferenceRequest, at: number): void =>
    scorer.onRouted?.({ ...makeRouted(makePool([{}])[0] as Endpoint), request, at });
  const [waits, next] = [makeRequest({ id: 'waits' }), makeRequest({ id: 'next' })];
  score(waits, NOW, NOW - 20_000);
  score(waits, NOW + 100, NOW + 50);
  send(waits, NOW + 100);
  score(next, NOW + 4000, NOW + 50);
  send(next, NOW + 4000);
  expect(score(makeRequest(), NOW + 8000, NOW + 50)).toBe(0);
});

/** The same pool, where all but the last endpoint have new samples. */
const poolAt = (pool: readonly Endpoint[], at: number): readonly Endpoint[] =>
  makePool(
    pool.map(({ metrics }, index) => ({ sampledAt: index < 3 ? at - 50 : metrics.sampledAt })),
  );
