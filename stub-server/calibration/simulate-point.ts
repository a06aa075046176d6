import type { Clock, Random } from '../../src/framework/runtime.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { Engine } from '../engine/engine.ts';
import { type RooflineLatency, rooflineLatency } from '../engine/latency-model.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import type { ServingPoint } from './serving-point.ts';

export interface Calibrated {
  readonly latency: RooflineLatency;
  readonly admissionMs: number;
  readonly completionMs: number;
}

type PointPrediction = Pick<
  ServingPoint,
  'throughputRps' | 'ttftMeanS' | 'ttftMedianS' | 'e2eMeanS'
>;

/** The benchmark's client has at most so many open requests. */
const IN_FLIGHT_MAX = 440;
/** The benchmark's number of distinct prompts. */
const DISTINCT_PROMPTS = 100;
/** The mean of fewer requests is too noisy. */
const REQUESTS_MIN = 40;
/** vLLM's defaults on such a server; memory is not the limit at these sizes. */
const BATCHED_TOKENS_MAX = 8192;
const BLOCK_TOKENS = 16;
const KV_BLOCKS = 27_000;

/**
 * Simulates a benchmark's load on the engine. Arrivals are the "constant" ones of inference-perf:
 * exponential gaps, scaled so that they fill the stage exactly. `seconds` limits the stage.
 */
export function simulatePoint(
  point: ServingPoint,
  calibrated: Calibrated,
  { seconds, seed }: { readonly seconds: number; readonly seed: number },
): PointPrediction {
  const clock = new SimulatedClock();
  const random = seededRandom(seed);
  const engine = engineFor(point, calibrated, clock);
  const promptTokens = Math.round(point.promptTokensMean);
  const prompts = promptsOf(point);
  // A benchmark runs its stages one after another on one server, so its prompts are cached.
  for (const blockHashes of prompts) engine.submit({ promptTokens, outputTokens: 1, blockHashes });
  while (clock.step()) continue;
  const ttfts: number[] = [];
  const e2es: number[] = [];
  let firstSentAt = Number.NaN;
  let queued = 0;
  let open = 0;
  const send = (): void => {
    open += 1;
    const sentAt = clock.now();
    if (Number.isNaN(firstSentAt)) firstSentAt = sentAt;
    engine.submit({
      promptTokens,
      outputTokens: roundAtRandom(point.outputTokensMean, random.next()),
      blockHashes: prompts[Math.floor(random.next() * prompts.length)] ?? [],
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
  for (const at of arrivals(point, seconds, random)) {
    clock.setTimer(at, () => {
      if (open < IN_FLIGHT_MAX) send();
      else queued += 1;
    });
  }
  while (clock.step()) continue;
  ttfts.sort((a, b) => a - b);
  return {
    throughputRps: (1000 * e2es.length) / (clock.now() - firstSentAt),
    ttftMeanS: mean(ttfts),
    ttftMedianS: ttfts[Math.floor(ttfts.length / 2)] ?? Number.NaN,
    e2eMeanS: mean(e2es),
  };
}

/** Milliseconds from the start of the stage. */
function arrivals(
  { requests, requestedRps }: ServingPoint,
  seconds: number,
  random: Random,
): readonly number[] {
  const wanted = Math.min(requests, Math.max(REQUESTS_MIN, requestedRps * seconds));
  const gaps = Array.from({ length: Math.round(wanted) }, () => -Math.log(1 - random.next()));
  const scale = (1000 * gaps.length) / requestedRps / gaps.reduce((sum, gap) => sum + gap, 0);
  let at = 0;
  return gaps.map((gap) => {
    at += scale * gap;
    return at;
  });
}

/** Block hashes of the benchmark's prompts; empty without prefix caching. */
function promptsOf({ prefixCaching, promptTokensMean }: ServingPoint): readonly number[][] {
  if (!prefixCaching) return [];
  const blocks = Math.floor(Math.round(promptTokensMean) / BLOCK_TOKENS);
  return Array.from({ length: DISTINCT_PROMPTS }, (_, prompt) =>
    Array.from({ length: blocks }, (__, index) => 1000 * (prompt + 1) + index),
  );
}

function engineFor(
  { maxNumSeqs }: ServingPoint,
  { latency, ...delays }: Calibrated,
  clock: Clock,
): Engine {
  return new Engine({
    ...delays,
    clock,
    latency: rooflineLatency(latency),
    observer: new EngineStats(),
    kvBlocks: KV_BLOCKS,
    blockTokens: BLOCK_TOKENS,
    sequencesMax: maxNumSeqs,
    batchedTokensMax: BATCHED_TOKENS_MAX,
  });
}

/** Rounds down or up so that the mean over `chance`, 0 to 1, is `value`. */
function roundAtRandom(value: number, chance: number): number {
  const floor = Math.floor(value);
  return floor + (chance < value - floor ? 1 : 0);
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
