import type { SimulationSummary } from '../../src/lab/run-summary/summarize.ts';
import type { ScenarioSize } from '../scenarios/scenario.ts';
import type { Entry } from './standings.ts';
import type { PolicyJob } from './worker.ts';

/** A policy in one setting. */
export interface Candidate {
  readonly policy: string;
  /** Empty for the policy as shipped. */
  readonly variant: string;
  /** The name or the text of its configuration. */
  readonly config: string;
}

/** The draws on which candidates are simulated. */
export interface Draws {
  readonly scenario: string;
  readonly seeds: readonly number[];
  readonly size: ScenarioSize;
}

/** Simulates jobs; the summaries come in the order of the jobs. */
export type SimulateAll = (jobs: readonly PolicyJob[]) => Promise<readonly SimulationSummary[]>;

/** Every candidate on every draw. */
export async function simulateCandidates(
  candidates: readonly Candidate[],
  { scenario, seeds, size }: Draws,
  simulateAll: SimulateAll,
): Promise<readonly (Candidate & Entry)[]> {
  // Draw by draw, because a worker builds a draw once.
  const jobs = seeds.flatMap((seed) =>
    candidates.map(({ config }): PolicyJob => ({ scenario, config, seed, size })),
  );
  const summaries = await simulateAll(jobs);
  return candidates.map((each, index) => ({
    ...each,
    summaries: seeds.map(
      (_, draw) => summaries[draw * candidates.length + index] as SimulationSummary,
    ),
  }));
}
