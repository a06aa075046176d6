import { describe, expect, it } from 'vitest';
import { createPicker } from '../../src/index.ts';
import { type SimulationSummary, summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import { DISAGGREGATED } from '../scenarios/disaggregated.ts';
import type { Scenario } from '../scenarios/scenario.ts';
import { SYNTHETIC } from '../scenarios/synthetic.ts';
import { traceScenarios } from '../scenarios/traces.ts';
import { contestOf } from './contest.ts';
import { judge } from './judge.ts';
import { namedScenario } from './scenarios.ts';
import { tune } from './tune.ts';
import { readTuned, rivalsOf } from './tuned.ts';
import type { PolicyJob } from './worker.ts';

const CHOSEN = [...traceScenarios(''), ...SYNTHETIC, ...DISAGGREGATED];

function named(name: string): Scenario {
  return (
    CHOSEN.find((each) => each.name === name) ??
    namedScenario(name) ??
    expect.fail(`no scenario ${name}`)
  );
}

/** The first requests of a small draw. */
function simulateJob({ scenario, config, seed }: PolicyJob): SimulationSummary {
  const run = named(scenario).build(seed, 'small');
  const requests = run.workload.requests.slice(0, 150);
  const workload = { ...run.workload, requests };
  return summarize(simulate({ ...run, workload, config, createPicker, seed }));
}

describe('tuned.json', () => {
  it('[Q173] has settings for every chosen scenario, and only settings and scenarios that there are', () => {
    const rows = readTuned();
    expect(CHOSEN.map(({ name }) => name).filter((name) => !rows.has(name))).toEqual([]);
    for (const row of rows.values()) {
      const rivals = rivalsOf(row, contestOf(named(row.scenario)).baselines);
      expect(rivals.length, row.scenario).toBeGreaterThan(0);
    }
  });
});

describe('tune', () => {
  it('[Q174] tries every setting on small draws, the best eight on a full one, and keeps the best three', async () => {
    const summary = simulateJob({ scenario: 'chat', config: 'default', seed: 1, size: 'small' });
    const jobs: PolicyJob[] = [];
    const { baselines } = contestOf(named('chat'));
    const configs = baselines.flatMap(({ variants }) => [...variants.values()]);
    // The later a setting in the list, the better it is; on the full draw the other way around.
    const msOf = ({ config, size }: PolicyJob): number =>
      size === 'small' ? configs.length - configs.indexOf(config) : configs.indexOf(config) + 1;
    const row = await tune(named('chat'), {
      date: '2026-01-01',
      simulateAll: (asked) => {
        jobs.push(...asked);
        return Promise.resolve(asked.map((job) => ({ ...summary, ttftMeanMs: msOf(job) })));
      },
    });
    const small = jobs.filter(({ size }) => size === 'small');
    expect(small).toHaveLength(2 * configs.length);
    expect(new Set(small.map(({ config }) => config))).toEqual(new Set(configs));
    const full = jobs.filter(({ size }) => size === 'full').map(({ config }) => config);
    expect(new Set(full)).toEqual(new Set(configs.slice(-8)));
    expect(Math.min(...jobs.map(({ seed }) => seed))).toBeGreaterThan(100);
    const finalists = rivalsOf({ ...row, shipped: [] }, baselines).map(({ config }) => config);
    expect(finalists).toEqual(configs.slice(-8, -5));
  });
});

describe('judge', () => {
  it('[Q170] compares ours, the same at once, and the recorded figures of other policies on the same draws', async () => {
    const row = readTuned().get('mixed-speeds') ?? expect.fail('no row');
    const jobs: PolicyJob[] = [];
    const found = await judge(named('mixed-speeds'), row, {
      seeds: 2,
      size: 'small',
      waiting: true,
      simulateAll: (asked) => {
        jobs.push(...asked);
        return Promise.resolve(asked.map(simulateJob));
      },
    });
    expect(found).toMatchObject({ scenario: 'mixed-speeds', kind: 'chosen' });
    expect(Object.keys(found.untuned)).toEqual(row.shipped);
    expect(Object.keys(found.rivalWaitingMs)).toEqual(['fcfs', 'response-ratio']);
    expect(found.bestTuned.ms).toBeLessThanOrEqual(found.bestUntuned.ms);
    expect(new Set(jobs.map(({ seed }) => seed))).toEqual(new Set([1, 2]));
  });
});
