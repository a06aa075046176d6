import { parentPort, workerData } from 'node:worker_threads';
import { createPicker } from '../../src/index.ts';
import { type SimulationSummary, summarize } from '../../src/lab/run-summary/summarize.ts';
import { simulate } from '../../src/lab/simulate/simulate.ts';
import type { ScenarioRun, ScenarioSize } from '../scenarios/scenario.ts';
import { namedScenario, scenariosFrom } from './scenarios.ts';

/** One configuration on one draw of a scenario. */
export interface PolicyJob {
  readonly scenario: string;
  readonly config: string;
  readonly seed: number;
  readonly size: ScenarioSize;
}

/** A thread that simulates jobs. Its data is the folder with the recorded traces. */
const scenarios = scenariosFrom(workerData as string | undefined);
/** Jobs of one draw follow each other, and building it takes as long as a tenth of a simulation. */
let built: { readonly draw: string; readonly run: ScenarioRun } | undefined;

function runOf({ scenario, seed, size }: PolicyJob): ScenarioRun {
  const draw = `${scenario} ${seed} ${size}`;
  if (built?.draw !== draw) {
    const found = scenarios.find(({ name }) => name === scenario) ?? namedScenario(scenario);
    if (found === undefined) throw new Error(`no scenario ${scenario}`);
    built = { draw, run: found.build(seed, size) };
  }
  return built.run;
}

parentPort?.on('message', (job: PolicyJob) => {
  const { config, seed } = job;
  const summary: SimulationSummary = summarize(
    simulate({ createPicker, ...runOf(job), config, seed }),
  );
  parentPort?.postMessage(summary);
});
