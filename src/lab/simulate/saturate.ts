import type { SimulationResult } from '../run-summary/run-result.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import { type SimulationSummary, summarize } from '../run-summary/summarize.ts';
import { type Throughput, throughputOf } from '../run-summary/throughput.ts';
import { findSaturation, type Probe, type Saturation } from './find-saturation.ts';

/** What a pool did under one load. */
export interface LoadProbe extends Probe, Throughput {
  readonly summary: SimulationSummary;
}

/** Requests that come in less time are a burst, and no load that is borne: 30 s. */
const SPAN_MIN_MS = 30_000;
/** Slower than this there is hardly anything to wait for: what still misses the objective would miss it alone. */
const SLOWEST = 1 / 16;

/** The fastest arrivals at which a run still meets the objective. `atSpeed` is the run at `speed`, where the search begins. */
export function saturate({
  run,
  objective,
  speed,
  atSpeed,
}: {
  readonly run: (speed: number) => SimulationResult;
  readonly objective: ServiceObjective;
  readonly speed: number;
  readonly atSpeed: SimulationResult;
}): Saturation<LoadProbe> {
  const spanMs = atSpeed.requests.at(-1)?.request.atMs ?? 0;
  const measure = (tried: number): LoadProbe => {
    const result = tried === speed ? atSpeed : run(tried);
    const summary = summarize(result, objective);
    return {
      speed: tried,
      meets: summary.goodput >= objective.share,
      summary,
      ...throughputOf(result, objective),
    };
  };
  const max = Math.max(speed, (speed * spanMs) / SPAN_MIN_MS);
  return findSaturation(measure, { from: speed, min: speed * SLOWEST, max });
}
