import type { Clock, Millis, Random } from '../../src/framework/runtime.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { Engine } from '../engine/engine.ts';
import { type RooflineLatency, rooflineLatency } from '../engine/latency-model.ts';
import { EngineStats } from '../metrics/engine-stats.ts';
import { BenchmarkClient } from './benchmark-client.ts';
import { spreadLengths } from './length-quantiles.ts';
import type { ServingPoint } from './serving-point.ts';

export interface Calibrated {
  readonly latency: RooflineLatency;
  readonly admissionMs: Millis;
  readonly admissionPerSequenceMs: Millis;
  readonly completionMs: Millis;
}

/** The engine, and how it is measured. */
export interface Calibration {
  readonly engine: Calibrated;
  readonly connectMs: Millis;
}

export type PointPrediction = Pick<
  ServingPoint,
  'throughputRps' | 'ttftMeanS' | 'ttftMedianS' | 'e2eMeanS'
>;

/** The mean of fewer requests is too noisy. */
const REQUESTS_MIN = 40;
/** vLLM's defaults on such a server; memory is not the limit at these sizes. */
const BATCHED_TOKENS_MAX = 8192;
const BLOCK_TOKENS = 16;
const KV_BLOCKS = 27_000;

/** Simulates one run of a benchmark's load on the engine. `seconds` limits the stage. */
export function simulatePoint(
  point: ServingPoint,
  calibration: Calibration,
  { seconds, seed }: { readonly seconds: number; readonly seed: number },
): PointPrediction {
  const clock = new SimulatedClock();
  const random = seededRandom(seed);
  const engine = engineFor(point, calibration.engine, clock);
  const prompts = promptsOf(point);
  if (point.prefixCaching) cachePrompts(engine, prompts, clock);
  const ttfts: number[] = [];
  const e2es: number[] = [];
  let firstSentAt = Number.POSITIVE_INFINITY;
  const requests = requestsOf(point, seconds);
  const outputs = outputsOf(point, requests, random);
  const client = new BenchmarkClient(point, {
    clock,
    random,
    connectMs: calibration.connectMs,
    submit: ({ sentAt, done }) => {
      firstSentAt = Math.min(firstSentAt, sentAt);
      const prompt = prompts[Math.floor(random.next() * prompts.length)] as Prompt;
      engine.submit({
        ...prompt,
        outputTokens: outputs.pop() ?? 1,
        onFirstToken: (at) => void ttfts.push((at - sentAt) / 1000),
        onDone: (_reason, _usage, at) => {
          e2es.push((at - sentAt) / 1000);
          done();
        },
      });
    },
  });
  client.start(requests, point.requestedRps);
  while (clock.step()) continue;
  return predictionOf({ ttfts, e2es, lastedMs: clock.now() - firstSentAt });
}

/** A benchmark runs its stages one after another on one server, so its prompts are cached. */
function cachePrompts(engine: Engine, prompts: readonly Prompt[], clock: SimulatedClock): void {
  for (const prompt of prompts) engine.submit({ ...prompt, outputTokens: 1 });
  while (clock.step()) continue;
}

function predictionOf({
  ttfts,
  e2es,
  lastedMs,
}: {
  readonly ttfts: readonly number[];
  readonly e2es: readonly number[];
  readonly lastedMs: Millis;
}): PointPrediction {
  const sorted = ttfts.toSorted((a, b) => a - b);
  return {
    throughputRps: (1000 * e2es.length) / lastedMs,
    ttftMeanS: mean(sorted),
    ttftMedianS: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    e2eMeanS: mean(e2es),
  };
}

/** How many requests a stage of so many seconds has. */
function requestsOf({ requests, requestedRps }: ServingPoint, seconds: number): number {
  return Math.round(Math.min(requests, Math.max(REQUESTS_MIN, requestedRps * seconds)));
}

/** Lengths of all answers in random order: their mean is the one of the point, not only near it. */
function outputsOf(point: ServingPoint, requests: number, random: Random): number[] {
  const { outputTokensQuantiles, generatedTokensMean, outputTokensMean } = point;
  const lengths = spreadLengths(outputTokensQuantiles, {
    mean: generatedTokensMean ?? outputTokensMean,
    number: requests,
  }).map((length) => roundAtRandom(length, random.next()));
  for (let left = lengths.length - 1; left > 0; left--) {
    const other = Math.floor(random.next() * (left + 1));
    [lengths[left], lengths[other]] = [lengths[other] as number, lengths[left] as number];
  }
  return lengths;
}

interface Prompt {
  readonly promptTokens: number;
  /** Empty without prefix caching. */
  readonly blockHashes: readonly number[];
}

function promptsOf(point: ServingPoint): readonly Prompt[] {
  const { prefixCaching, promptTokensMean, promptTokensQuantiles, distinctPrompts } = point;
  const lengths = spreadLengths(promptTokensQuantiles, {
    mean: promptTokensMean,
    number: distinctPrompts,
  });
  return lengths.map((length, prompt) => {
    const promptTokens = Math.max(1, Math.round(length));
    const blocks = prefixCaching ? Math.floor(promptTokens / BLOCK_TOKENS) : 0;
    const blockHashes = Array.from({ length: blocks }, (_, index) => 1000 * (prompt + 1) + index);
    return { promptTokens, blockHashes };
  });
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

/** Rounds down or up so that the mean over `chance`, 0 to 1, is `value`; at least 1. */
function roundAtRandom(value: number, chance: number): number {
  const floor = Math.floor(value);
  return Math.max(1, floor + (chance < value - floor ? 1 : 0));
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
