import type { EmbeddedPicker, PickerOptions } from '../../library/create-picker.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { curvesOf, type SimulationCurves } from '../run-summary/curves.ts';
import { type HitLadder, hitLadder } from '../run-summary/hit-ladder.ts';
import type { SimulationResult } from '../run-summary/run-result.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import { type SimulationSummary, summarize } from '../run-summary/summarize.ts';
import { type Throughput, throughputOf } from '../run-summary/throughput.ts';
import type { TraceReading } from '../run-summary/trace-reading.ts';
import { jittered, speedUp, type Workload } from '../traces/workload.ts';
import type { Saturation } from './find-saturation.ts';
import type { PoolSpec } from './pool-spec.ts';
import { type LoadProbe, saturate } from './saturate.ts';
import { simulate } from './simulate.ts';
import { reshape } from './what-if.ts';

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
  /** What the pool is changed to before, as `reshape` takes it. */
  readonly shape?: string;
  readonly objective: ServiceObjective;
  /** Whether the highest load that meets the objective is wanted, too. */
  readonly findSaturation?: boolean;
  /** Whether what a picture is drawn from is wanted, too. */
  readonly curves?: boolean;
}

export interface JobResult {
  readonly job: SimulationJob;
  readonly summary: SimulationSummary;
  readonly throughput: Throughput;
  /** Where it was asked for. */
  readonly saturation?: Saturation<LoadProbe>;
  /** Where they were asked for. */
  readonly curves?: SimulationCurves;
  readonly ladder?: HitLadder;
  /** How the trace was read, where a worker has read it. */
  readonly trace?: TraceReading;
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
  const { seed, spreadMs, config, scrapeIntervalMs, objective } = job;
  const drawn =
    spreadMs === 0 ? workload : jittered(workload, seededRandom(seed).fork('arrivals'), spreadMs);
  const shaped = job.shape === undefined ? pool : reshape(pool, job.shape);
  const run = (speed: number): SimulationResult =>
    simulate({
      workload: speedUp(drawn, speed),
      pool: shaped,
      config,
      createPicker,
      seed,
      scrapeIntervalMs,
    });
  const result = run(job.speed);
  return {
    job,
    summary: summarize(result, objective),
    throughput: throughputOf(result, objective),
    ...(job.findSaturation === true && {
      saturation: saturate({ run, objective, speed: job.speed, atSpeed: result }),
    }),
    ...(job.curves === true && pictured(speedUp(drawn, job.speed), result, shaped)),
  };
}

function pictured(
  workload: Workload,
  result: SimulationResult,
  pool: PoolSpec,
): Required<Pick<JobResult, 'curves' | 'ladder'>> {
  const curves = curvesOf(result, pool);
  return { curves, ladder: hitLadder(workload, pool, curves.binMs) };
}
