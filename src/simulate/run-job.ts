import type { EmbeddedPicker, PickerOptions } from '../create-picker.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { curvesOf, hitCeilings, type SimulationCurves } from './curves.ts';
import type { PoolSpec } from './pool-spec.ts';
import { simulate } from './simulate.ts';
import { type SimulationSummary, summarize } from './summarize.ts';
import { jittered, speedUp, type Workload } from './workload.ts';

/** One configuration on one draw of a workload; crosses to a worker as it is. */
export interface SimulationJob {
  /** What the result is listed under. */
  readonly name: string;
  /** A configuration as text, or a built-in one's name. */
  readonly config: string;
  readonly seed: number;
  readonly speed: number;
  /** Arrivals move by up to this, in the trace's own time, anew for each seed; 0 leaves them alone. */
  readonly spreadMs: number;
  readonly scrapeIntervalMs: number;
  /** Whether what a picture is drawn from is wanted, too. */
  readonly curves?: boolean;
}

export interface JobResult {
  readonly job: SimulationJob;
  readonly summary: SimulationSummary;
  /** Where they were asked for. */
  readonly curves?: SimulationCurves;
  readonly ceilings?: ReturnType<typeof hitCeilings>;
}

/** Runs a job. The same job gives the same result, wherever it runs. */
export function runJob(
  job: SimulationJob,
  {
    workload,
    pool,
    createPicker,
  }: {
    readonly workload: Workload;
    readonly pool: PoolSpec;
    readonly createPicker: (options: PickerOptions) => EmbeddedPicker;
  },
): JobResult {
  const { seed, speed, spreadMs, config, scrapeIntervalMs } = job;
  const drawn =
    spreadMs === 0 ? workload : jittered(workload, seededRandom(seed).fork('arrivals'), spreadMs);
  const result = simulate({
    workload: speedUp(drawn, speed),
    pool,
    config,
    createPicker,
    seed,
    scrapeIntervalMs,
  });
  const summary = summarize(result);
  if (job.curves !== true) return { job, summary };
  return { job, summary, curves: curvesOf(result, pool), ceilings: hitCeilings(workload, pool) };
}
