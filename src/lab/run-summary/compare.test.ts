import { describe, expect, it } from 'vitest';
import type { JobResult } from '../simulate/run-job.ts';
import { compare, estimate } from './compare.ts';
import { comparisonLegend, renderComparison } from './render-comparison.ts';
import { STUDY_OBJECTIVE } from './service-objective.ts';

function result(name: string, seed: number, ttftMeanMs: number): JobResult {
  return {
    job: {
      name,
      config: name,
      seed,
      speed: 1,
      spreadMs: 0,
      scrapeIntervalMs: 50,
      objective: STUDY_OBJECTIVE,
    },
    throughput: { requestsPerSecond: 1, goodTokensPerSecond: 1, goodOutputTokensPerSecond: 1 },
    summary: {
      requests: 1,
      failed: 0,
      ttftMeanMs,
      ttftP50Ms: 0,
      ttftP99Ms: 0,
      tpotMeanMs: 0,
      e2eMeanMs: 0,
      goodput: 1,
      hitRate: 0,
      preemptions: 0,
    },
  };
}

it('[O394] compares nothing with a configuration that has answered no request', () => {
  const table = (first: number, second: number): string => {
    const results = [0, 1].flatMap((seed) => [result('a', seed, first), result('b', seed, second)]);
    return renderComparison(compare(results), 200);
  };
  for (const text of [table(100, Number.NaN), table(Number.NaN, 100)]) {
    expect(text).not.toContain('NaN');
    expect(text).toMatch(/^b +(100|–) +– /m);
  }
});

it('[O484] counts requests in whole numbers where draws agree', () => {
  const failing = (seed: number, failed: number): JobResult => {
    const one = result('a', seed, 100);
    return { ...one, summary: { ...one.summary, failed } };
  };
  expect(renderComparison(compare([failing(0, 1200)]), 200)).toMatch(/^a .* 0 +1,200$/m);
  expect(renderComparison(compare([failing(0, 2), failing(1, 3)]), 200)).toMatch(/^a .* 0 +2\.5$/m);
});

it('[O505] says that rows of a live run are targets', () => {
  const live = renderComparison(compare([result('127.0.0.1:8081', 0, 100)]), 200, 'target');
  expect(live).toMatch(/^target +TTFT ms/);
});

describe('[O274] a table of few draws', () => {
  const table = (times: readonly number[]): string =>
    renderComparison(
      compare([
        ...times.map((ms, seed) => result('a', seed, ms)),
        ...times.map((ms, seed) => result('b', seed, ms * (1 + seed))),
      ]),
    );

  it('has no interval below five draws, and says why', () => {
    expect(table([100, 120])).not.toContain('±');
    expect(table([100, 120])).toMatch(
      /\nmeans of 2 draws, too few for an interval: use at least 5 /,
    );
    expect(table([100, 120, 90, 80])).toContain('means of 4 draws, too few');
  });

  it('[O292] is no wider than a terminal: further columns follow below, each part with the names', () => {
    const name = 'deploy/examples/mine.yaml';
    const of = (draws: number): ReturnType<typeof compare> =>
      compare(
        ['default', name].flatMap((config, at) =>
          Array.from({ length: draws }, (_, seed) => result(config, seed, 100 * (at + 1) + seed)),
        ),
      );
    const lines = renderComparison(of(5), 80).split('\n');
    expect(Math.max(...lines.map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect(lines.filter((line) => line.startsWith('config ')).length).toBeGreaterThan(1);
    expect(lines.filter((line) => line.startsWith(name)).length).toBeGreaterThan(1);
    // What it is about comes first.
    expect(lines[0]).toMatch(/^config +TTFT ms +against first /);
    // Where there is room, it is one table.
    const wide = renderComparison(of(5), 200).split('\n');
    expect(wide.filter((line) => line.startsWith('config '))).toHaveLength(1);
  });

  it('[O452] [O502] says below it what its columns mean and when an answer is good, in 80 columns', () => {
    const legend = comparisonLegend({ ttftMs: 1500, tpotMs: 50, share: 0.95 });
    expect(legend).toContain('good: TTFT under 1,500 ms and TPOT under 50 ms;');
    const widths = legend.split('\n').map(({ length }) => length);
    expect(Math.max(...widths)).toBeLessThanOrEqual(80);
  });

  it('[O325] is one table of 80 columns for one configuration, and leaves no column alone where it is parted', () => {
    const single = renderComparison(compare([result('default', 1, 91.8)]), 80);
    expect(single.split('\n').filter((line) => line.startsWith('config'))).toHaveLength(1);
    const twelve = 'twelve-chars';
    const parted = renderComparison(compare([result(twelve, 1, 91.8), result('other', 1, 99)]), 80);
    const columns = parted
      .split('\n')
      .filter((line) => line.startsWith('config '))
      .map((line) => line.split(/ {2,}/).length - 1);
    expect(columns).toHaveLength(2);
    expect(Math.min(...columns)).toBeGreaterThanOrEqual(4);
  });

  it('has intervals from five draws on, and one draw has neither', () => {
    expect(table([100, 120, 90, 110, 95])).toMatch(/ ±[\d.]+ .* ±[\d.]+ % /);
    expect(table([100, 120, 90, 110, 95])).not.toContain('too few');
    expect(table([100])).not.toMatch(/±|too few/);
  });
});

describe('compare', () => {
  it('gives Student’s 95 % interval of a mean', () => {
    // By hand: variance 2.5, t(4) = 2.776.
    const { mean, plusMinus } = estimate([1, 2, 3, 4, 5]);
    expect(mean).toBe(3);
    expect(plusMinus).toBeCloseTo(2.776 * Math.sqrt(2.5 / 5), 6);
    expect(estimate([7]).plusMinus).toBeNaN();
  });

  it('pairs differences by seed, so that what the draws share cancels out', () => {
    const draws = [100, 400, 900];
    const results = [
      ...draws.map((ms, seed) => result('a', seed, ms)),
      ...draws.map((ms, seed) => result('b', seed, ms - 10)).reverse(),
    ];
    const [a, b] = compare(results);
    expect(a?.againstFirst).toBeUndefined();
    expect(b?.againstFirst?.ttftMeanMs).toEqual({ mean: -10, plusMinus: 0 });
    expect(a?.figures.ttftMeanMs.plusMinus).toBeGreaterThan(500);
  });
});
