import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { createPicker } from '../../src/index.ts';
import { summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { DISAGGREGATED } from '../scenarios/disaggregated.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { SYNTHETIC } from '../scenarios/synthetic.ts';
import { contestOf } from './contest.ts';
import { standing } from './standings.ts';

const named = (name: string): Scenario => {
  const found = DISAGGREGATED.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`no scenario ${name}`);
  return found;
};

/** The first requests of a draw. */
function summaryOf(scenario: Scenario, config: string) {
  const { workload, pool } = scenario.build(1, 'small');
  const first = { ...workload, requests: workload.requests.slice(0, 150) };
  return summarize(simulate({ workload: first, pool, config, createPicker, seed: 1 }));
}

it('runs every baseline, tuned or not, in a pool with separate prefill servers, without a failed request', () => {
  const scenario = named('prefill-decode');
  const { ours, baselines } = contestOf(scenario);
  const configs = [ours, ...baselines.flatMap(({ variants }) => [...variants.values()])];
  expect(new Set(configs).size).toBe(1 + 7 * 8);
  const shares = configs.map((config) => summaryOf(scenario, config)).map(({ failed }) => failed);
  expect(new Set(shares)).toEqual(new Set([0]));
});

it('[D291] gives our policy the prefix index that the others have there', () => {
  const { ours, baselines } = contestOf(named('prefill-decode'));
  const indexOf = (config = ''): unknown =>
    (parse(config) as { plugins: { type: string; parameters?: unknown }[] }).plugins.find(
      ({ type }) => type === 'approx-prefix-cache-producer',
    )?.parameters;
  expect(indexOf(ours)).toEqual({ keepInFlight: true });
  for (const { variants } of baselines) {
    expect(indexOf(variants.get(''))).toEqual(indexOf(ours));
  }
});

it('judges each objective by its own figure', () => {
  const [both, first] = [named('prefill-decode'), named('prefill-decode-ttft')].map(contestOf);
  expect([both?.figure, first?.figure]).toEqual(['e2eMeanMs', 'ttftMeanMs']);
  const answered = (config = ''): number => summaryOf(named('prefill-decode'), config).e2eMeanMs;
  expect(answered(first?.ours)).not.toBe(answered(both?.ours));
  expect(contestOf(SYNTHETIC[0] as Scenario)).toMatchObject({
    ours: 'default',
    figure: 'ttftMeanMs',
  });
});

it('orders baselines by the figure of the scenario', () => {
  const summary = summaryOf(named('prefill-decode'), contestOf(named('prefill-decode')).ours);
  const entry = (policy: string, ttftMeanMs: number, e2eMeanMs: number) => ({
    policy,
    variant: '',
    summaries: [{ ...summary, ttftMeanMs, e2eMeanMs }],
  });
  const entries = [entry('default', 10, 100), entry('a', 5, 200), entry('b', 20, 50)];
  expect(standing('s', entries, 'ttftMeanMs')).toMatchObject({
    bestTuned: { policy: 'a', ms: 5 },
    ours: { mean: 10 },
  });
  expect(standing('s', entries, 'e2eMeanMs')).toMatchObject({
    bestTuned: { policy: 'b', ms: 50 },
    ours: { mean: 100 },
  });
});
