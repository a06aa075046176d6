import { expect, it } from 'vitest';
import type { Run } from '../../src/lab/run-summary/compare.ts';
import { gainOf, pairUp } from './agreement.ts';

function run(name: string, ttftP50Ms: number, ttftMeanMs: number, seed = 1): Run {
  return {
    job: { name, seed },
    summary: {
      requests: 1,
      failed: 0,
      ttftMeanMs,
      ttftP50Ms,
      ttftP99Ms: 0,
      tpotMeanMs: 0,
      e2eMeanMs: 0,
      goodput: 1,
      hitRate: 0,
      preemptions: 0,
    },
  };
}

it('pairs medians by name, and ranks by means', () => {
  const simulated = [run('a', 100, 900), run('b', 200, 300)];
  const draws = [run('a', 90, 0, 1), run('a', 120, 0, 2), run('b', 200, 0, 1)];
  const live = [run('b', 210, 310), run('a', 130, 250)].map((each) => ({
    ...each,
    replay: { late: { p99: each.summary.ttftP50Ms / 10 } },
  }));
  expect(pairUp(simulated, draws, live)).toEqual([
    {
      name: 'a',
      simulatedMs: 100,
      drawsMs: [90, 120],
      liveMs: 130,
      lateMs: 13,
      simulatedRank: 2,
      liveRank: 1,
    },
    {
      name: 'b',
      simulatedMs: 200,
      drawsMs: [200, 200],
      liveMs: 210,
      lateMs: 21,
      simulatedRank: 1,
      liveRank: 2,
    },
  ]);
});

it('[Q200] takes the median round for what waiting brings live, over what it brings in simulation', () => {
  const simulated = { waitingMs: 800, atOnceMs: 1000 };
  const rounds = [900, 400, 840].map((waitingMs) => ({ waitingMs, atOnceMs: 1000 }));
  expect(gainOf(simulated, rounds)).toEqual({ simulated: 0.8, live: 0.84, ratio: 0.84 / 0.8 });
});
