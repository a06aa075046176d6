import { expect, it } from 'vitest';
import { createPicker } from '../../src/index.ts';
import { summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { chosenScenarios } from '../policies/scenarios.ts';
import type { Entry } from '../policies/standings.ts';
import { readOptions } from './options.ts';
import { outcomeOf, outcomeTable } from './outcome.ts';
import { SITUATIONS } from './situations.ts';

it('[Q259] draws each situation from its seed alone', () => {
  expect(new Set(SITUATIONS.map(({ name }) => name)).size).toBe(SITUATIONS.length);
  for (const { name, build } of SITUATIONS) {
    const [one, again, other] = [1, 1, 2].map((seed) => build(seed, 'small'));
    expect(again?.workload, name).toEqual(one?.workload);
    expect(again?.pool, name).toEqual(one?.pool);
    expect(other?.workload, name).not.toEqual(one?.workload);
  }
});

it.each(SITUATIONS)('[Q259] the default policy serves $name: $about', ({ build }) => {
  const { workload, ...run } = build(1, 'small');
  const first = { ...workload, requests: workload.requests.slice(0, 60) };
  const options = { createPicker, ...run, workload: first, config: 'default', seed: 1 };
  const { failed, requests, ttftMeanMs } = summarize(simulate(options));
  expect([failed, requests]).toEqual([0, first.requests.length]);
  expect(ttftMeanMs).toBeGreaterThan(0);
});

it('[Q259] names the other policy that has the soonest first tokens, and by how much it does', () => {
  const { build } = SITUATIONS[0] ?? expect.fail('there are none');
  const { workload, pool } = build(1, 'small');
  const few = { ...workload, requests: workload.requests.slice(0, 5) };
  const summary = summarize(
    simulate({ workload: few, pool, createPicker, config: 'default', seed: 1 }),
  );
  const entry = (policy: string, ...means: readonly number[]): Entry => ({
    policy,
    variant: '',
    summaries: means.map((ttftMeanMs) => ({ ...summary, ttftMeanMs, ttftP99Ms: 100 })),
  });
  const outcome = outcomeOf('s', [
    entry('default', 20, 80),
    entry('slow', 40, 160),
    entry('fast', 10, 20),
  ]);
  expect(outcome.best.policy).toBe('fast');
  expect(outcome.ratios.mean).toBeCloseTo(Math.sqrt(2 * 4));
  expect(outcome.ratios.p99).toBeCloseTo(1);
  expect(outcomeTable([outcome])).toContain('2.828');
});

it('[Q259] is a scenario of the whole comparison, too, where it is named', () => {
  const [found] = chosenScenarios({ only: ['answers-10k'] });
  expect(found?.build(1, 'small').workload.requests.length).toBeGreaterThan(20);
  expect(chosenScenarios({}).map(({ name }) => name)).not.toContain('answers-10k');
  expect(readOptions(['--rivals', 'all']).rivals).toContain('dual-map');
});
