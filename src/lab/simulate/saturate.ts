import type { SimulationResult } from '../run-summary/run-result.ts';
import type { ServiceObjective } from '../run-summary/service-objective.ts';
import type { SimulationSummary, Throughput } from '../run-summary/summarize.ts';
import { summarize, throughputOf } from '../run-summary/summarize.ts';
import { findSaturation, type Probe, type Saturation } from './find-saturation.ts';

/** The figures of a pool under one load. */
export interface LoadProbe extends Probe, Throughput {
  readonly summary: SimulationSummary;
}

/** Requests that arrive in less time than this are a burst and not a sustained load. */
const SPAN_MIN_MS = 30_000;
/** At this speed requests hardly queue; one that still misses the objective would miss it alone. */
const SLOWEST = 1 / 16;

/**
 * Finds the highest speed of arrivals at which a run meets the objective. The search starts at
 * `speed`, and `atSpeed` is the run at that speed.
 */
export async function saturate(
  run: (speed: number) => Promise<SimulationResult>,
  { objective, speed }: { readonly objective: ServiceObjective; readonly speed: number },
  atSpeed: SimulationResult,
): Promise<Saturation<LoadProbe>> {
  const spanMs = atSpeed.requests.at(-1)?.request.atMs ?? 0;
  const measure = async (tried: number): Promise<LoadProbe> => {
    const result = tried === speed ? atSpeed : await run(tried);
    const summary = summarize(result, objective);
    const meets = summary.goodput >= objective.share;
    return { speed: tried, meets, summary, ...throughputOf(result, objective) };
  };
  const max = Math.max(speed, (speed * spanMs) / SPAN_MIN_MS);
  return findSaturation(measure, { from: speed, min: speed * SLOWEST, max });
}
