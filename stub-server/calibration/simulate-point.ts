import type { Clock } from '../../src/framework/runtime.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { SimulatedClock } from '../../src/sim/simulated-clock.ts';
import { Engine } from '../engine.ts';
import { type RooflineLatency, rooflineLatency } from '../latency-model.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import type { ServingPoint } from './serving-point.ts';

/** Everything a fit decides. */
export interface Calibrated {
  readonly latency: RooflineLatency;
  readonly admissionMs: number;
  readonly completionMs: number;
}

export interface PointPrediction {
  readonly throughputRps: number;
  readonly ttftMeanS: number;
  readonly ttftMedianS: number;
  readonly e2eMeanS: number;
}

/** The benchmark's: a client that has so many requests open at most, and prompts drawn from so many. */
const IN_FLIGHT_MAX = 440;
const DISTINCT_PROMPTS = 100;
/** vLLM's defaults on such a server; memory does not bind at these sizes. */
const BATCHED_TOKENS_MAX = 8192;
const BLOCK_TOKENS = 16;
const KV_BLOCKS = 27_000;

/** Serves a benchmark's load on the engine: Poisson arrivals, for `seconds` of them. */
export function simulatePoint(
  point: ServingPoint,
  calibrated: Calibrated,
  { seconds, seed }: { readonly seconds: number; readonly seed: number },
): PointPrediction {
  const clock = new SimulatedClock();
  const random = seededRandom(seed);
  const engine = engineFor(point, calibrated, clock);
  // The client sends at the requested rate whatever comes back, up to its cap.
  const total = Math.max(40, Math.round(requestedRps(point) * seconds));
  const ttfts: number[] = [];
  const e2es: number[] = [];
  let arrived = 0;
  let queued = 0;
  let open = 0;
  const send = (): void => {
    open += 1;
    const sentAt = clock.now();
    const prompt = Math.floor(random.next() * DISTINCT_PROMPTS);
    const promptTokens = Math.round(point.promptTokensMean);
    const blocks = Math.floor(promptTokens / BLOCK_TOKENS);
    engine.submit({
      promptTokens,
      outputTokens: around(point.outputTokensMean, random.next()),
      blockHashes: point.prefixCaching
        ? Array.from({ length: blocks }, (_, index) => 1000 * (prompt + 1) + index)
        : [],
      onFirstToken: (at) => void ttfts.push((at - sentAt) / 1000),
      onDone: (_reason, _usage, at) => {
        e2es.push((at - sentAt) / 1000);
        open -= 1;
        if (queued === 0) return;
        queued -= 1;
        send();
      },
    });
  };
  const arrive = (): void => {
    arrived += 1;
    if (open < IN_FLIGHT_MAX) send();
    else queued += 1;
    if (arrived < total) {
      clock.setTimer((-Math.log(1 - random.next()) * 1000) / requestedRps(point), arrive);
    }
  };
  arrive();
  while (clock.step()) continue;
  ttfts.sort((a, b) => a - b);
  return {
    throughputRps: (1000 * e2es.length) / clock.now(),
    ttftMeanS: mean(ttfts),
    ttftMedianS: ttfts[Math.floor(ttfts.length / 2)] ?? Number.NaN,
    e2eMeanS: mean(e2es),
  };
}

function engineFor(
  { maxNumSeqs }: ServingPoint,
  { latency, admissionMs, completionMs }: Calibrated,
  clock: Clock,
): Engine {
  return new Engine({
    clock,
    latency: rooflineLatency(latency),
    observer: new EngineStats(),
    kvBlocks: KV_BLOCKS,
    blockTokens: BLOCK_TOKENS,
    sequencesMax: maxNumSeqs,
    batchedTokensMax: BATCHED_TOKENS_MAX,
    admissionMs,
    completionMs,
  });
}

/** Of a minute's load. */
function requestedRps({ requests }: ServingPoint): number {
  return requests / 60;
}

/** A whole number whose mean over chance is `value`. */
function around(value: number, chance: number): number {
  const floor = Math.floor(value);
  return floor + (chance < value - floor ? 1 : 0);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
