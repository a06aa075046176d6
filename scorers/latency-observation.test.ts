import { describe, expect, test } from 'vitest';
import { IN_FLIGHT, type LatencyAnchors, latencyAnchorsKey } from '../src/framework/cycle-facts.ts';
import type { SchedulingContext } from '../src/framework/scheduling.ts';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { latencyObservation } from './latency-observation.ts';

const known: LatencyAnchors = {
  floorMs: 200,
  low: { ttftMs: 350, requests: 4 },
  typical: { ttftMs: 550, requests: 9 },
  calibrated: true,
};

interface Given {
  readonly anchors?: LatencyAnchors;
  readonly requests: number;
}

/** Scores where the random number is 0.5. */
function scores(given: readonly Given[], parameters: object = {}): readonly number[] {
  const pool = makePool(given.map(() => ({})));
  const context = makeContext();
  const facts = new Map<string, unknown>([
    [IN_FLIGHT.name, { load: ({ slot }: { slot: number }) => given[slot] }],
    [latencyAnchorsKey().name, { anchorsOf: ({ slot }: { slot: number }) => given[slot]?.anchors }],
  ]);
  const asked: SchedulingContext = {
    ...context,
    random: { ...context.random, next: () => 0.5 },
    get: (key) => facts.get(key.name) as never,
  };
  const config = latencyObservation.config.parse(parameters);
  return latencyObservation.create(config, makeRuntime()).score(pool, asked);
}

/** The predicted time, by its place between endpoints of 0.2 and 1.2 seconds. */
function predictedMs(anchors: LatencyAnchors, requests: number): number {
  const fixed = (floorMs: number): Given => ({
    anchors: { ...known, floorMs, calibrated: false },
    requests: 0,
  });
  const none = { explorationRate: 0 };
  const [, , score = 0] = scores([fixed(200), fixed(1200), { anchors, requests }], none);
  return 1200 - 1000 * score;
}

describe('latency-observation-scorer-hub', () => {
  test.each([
    ['without load, the floor', known, 0, 200],
    ['below the low point, the line from the floor', known, 2, 275],
    ['at the low point', known, 4, 350],
    ['at the typical point', known, 9, 550],
    ['beyond it, the same line', known, 20, 990],
    ['points too near in load', { ...known, low: { ttftMs: 350, requests: 8 } }, 9, 550],
    ['a low point below the floor', { ...known, low: { ttftMs: 150, requests: 4 } }, 9, 550],
    ['a low point without load', { ...known, low: { ttftMs: 350, requests: 0 } }, 9, 550],
    ['points in the wrong order', { ...known, typical: { ttftMs: 300, requests: 9 } }, 9, 300],
  ])('[D171] predicts %s', (_what, anchors, requests, expected) => {
    expect(predictedMs(anchors, requests)).toBeCloseTo(expected, 6);
  });

  test('[D171] gives all the same while nothing is known', () => {
    expect(scores([{ requests: 1 }, { requests: 9 }])).toEqual([1, 1]);
  });

  test('[D171] sends an endpoint of which too little is known no request, but at random', () => {
    const some = [{ anchors: known, requests: 2 }, { requests: 0 }];
    expect(scores(some, { explorationRate: 0.4 })).toEqual([1, 0]);
    expect(scores(some, { explorationRate: 0.6 })).toEqual([1, 1]);
    expect(scores(some, { explorationRate: 0 })).toEqual([1, 1]);
  });

  test('[D171] predictions within one step are equal', () => {
    const near = [
      { anchors: known, requests: 2 },
      { anchors: known, requests: 3 },
    ];
    expect(scores(near, { roundTTFTStep: 0.5 })).toEqual([1, 1]);
    expect(scores(near)).toEqual([1, 0]);
  });
});
