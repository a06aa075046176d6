import { parentPort, workerData } from 'node:worker_threads';
import { createPicker } from '../../src/index.ts';
import { type SimulationSummary, summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import type { ScenarioSize } from '../scenarios/scenario.ts';
import { randomScenario, scenariosFrom } from './scenarios.ts';

/** One configuration on one draw of a scenario. */
export interface PolicyJob {
  readonly scenario: string;
  readonly config: string;
  readonly seed: number;
  readonly size: ScenarioSize;
}

/** A thread that simulates jobs. Its data is the folder with the recorded traces. */
const scenarios = scenariosFrom(workerData as string | undefined);

parentPort?.on('message', ({ scenario, config, seed, size }: PolicyJob) => {
  const found = scenarios.find(({ name }) => name === scenario) ?? randomScenario(scenario);
  if (found === undefined) throw new Error(`no scenario ${scenario}`);
  const run = found.build(seed, size);
  const summary: SimulationSummary = summarize(simulate({ ...run, config, createPicker, seed }));
  parentPort?.postMessage(summary);
});
