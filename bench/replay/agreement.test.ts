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

it('[Q200] compares the median live round with the median simulated draw, whatever single ones say', () => {
  const means = (waitingMs: number) => ({ waitingMs, atOnceMs: 1000 });
  const draws = [790, 450, 800, 820, 1600].map(means);
  expect(gainOf(draws, [900, 400, 840].map(means))).toEqual({
    simulated: 0.8,
    drawn: [0.45, 1.6],
    live: 0.84,
    ratio: 0.84 / 0.8,
  });
});
