import { z } from 'zod';
import type { Millis } from '../../src/framework/runtime.ts';
import { EngineStats, type HistogramName } from './engine-stats.ts';
import type { Histogram } from './histogram.ts';
import type { LorasInUse, MetricsSource } from './series-family.ts';
import { valueAt, type Wave, waveSchema } from './wave.ts';

/** Values of the metrics page in place of true ones, under llm-d-inference-sim's names. */
export interface FakeMetrics {
  readonly 'running-requests'?: Wave | null | undefined;
  readonly 'waiting-requests'?: Wave | null | undefined;
  /** 0 to 1. */
  readonly 'kv-cache-usage'?: Wave | null | undefined;
  readonly loras?: readonly LorasInUse[] | null | undefined;
  /** By reason. */
  readonly 'request-success-total'?: Readonly<Record<string, number>> | null | undefined;
  readonly 'total-prompt-tokens'?: number | null | undefined;
  readonly 'total-generation-tokens'?: number | null | undefined;
  readonly 'prefix-cache-hits'?: number | null | undefined;
  readonly 'prefix-cache-queries'?: number | null | undefined;
  readonly [buckets: string]: unknown;
}

/** Counts by bucket → the histogram that has them. */
const BUCKETS: Readonly<Record<string, HistogramName>> = {
  'ttft-buckets-values': 'firstToken',
  'tpot-buckets-values': 'interToken',
  'request-tpot-buckets-values': 'perOutputToken',
  'e2erl-buckets-values': 'request',
  'queue-time-buckets-values': 'queue',
  'inf-time-buckets-values': 'inference',
  'prefill-time-buckets-values': 'prefill',
  'decode-time-buckets-values': 'decode',
  'request-prompt-tokens': 'requestPromptTokens',
  'request-generation-tokens': 'requestGeneratedTokens',
  'request-max-generation-tokens': 'requestGeneratedTokens',
  'request-params-max-tokens': 'requestTokensMax',
};

const total = z.number().nonnegative().nullish();
const counts = z.array(z.number().nonnegative()).nullish();
const lora = z.preprocess(
  (value) => (typeof value === 'string' ? (JSON.parse(value) as unknown) : value),
  z.looseObject({
    running: z.string().default(''),
    waiting: z.string().default(''),
    timestamp: z.number().default(0),
  }),
);

export const fakeMetricsSchema: z.ZodType<FakeMetrics> = z.strictObject({
  'running-requests': waveSchema.nullish(),
  'waiting-requests': waveSchema.nullish(),
  'kv-cache-usage': waveSchema.nullish(),
  loras: z.array(lora).nullish(),
  'request-success-total': z.record(z.string(), z.number().nonnegative()).nullish(),
  'total-prompt-tokens': total,
  'total-generation-tokens': total,
  'prefix-cache-hits': total,
  'prefix-cache-queries': total,
  ...Object.fromEntries(Object.keys(BUCKETS).map((name) => [name, counts])),
}) as z.ZodType<FakeMetrics>;

/** `fake` with the fields of `change` that are not null. */
export function changedFakes(fake: FakeMetrics, change: FakeMetrics): FakeMetrics {
  const given = Object.entries(change).filter(([, value]) => value !== null && value !== undefined);
  return { ...fake, ...Object.fromEntries(given) };
}

/** The source of a page with fake values only. `sinceMs` is the time since the start. */
export function fakeSource(
  fake: FakeMetrics,
  source: MetricsSource,
  sinceMs: () => Millis,
): MetricsSource {
  return {
    ...source,
    stats: fakeStats(fake, source.stats),
    lorasInUse: () => fake.loras ?? [],
    lorasMax: fake.loras === undefined ? 0 : Math.max(1, source.lorasMax),
    engine: fakeEngine(fake, source, sinceMs),
  };
}

function fakeEngine(
  fake: FakeMetrics,
  { engine, kvBlocks }: MetricsSource,
  sinceMs: () => Millis,
): MetricsSource['engine'] {
  const now = (wave: Wave | null | undefined): number => valueAt(wave ?? 0, sinceMs());
  const usage = (): number => now(fake['kv-cache-usage']);
  return {
    speculation: undefined,
    encoder: { queries: 0, hits: 0 },
    loras: engine.loras,
    asleep: false,
    get runningCount() {
      return Math.round(now(fake['running-requests']));
    },
    get waitingCount() {
      return Math.round(now(fake['waiting-requests']));
    },
    kv: {
      pool: {
        get usage() {
          return usage();
        },
        get held() {
          return Math.round(usage() * kvBlocks);
        },
        get free() {
          return kvBlocks - Math.round(usage() * kvBlocks);
        },
      },
    },
  };
}

function fakeStats(fake: FakeMetrics, real: EngineStats): EngineStats {
  const stats = new EngineStats(real.requestPromptTokens.bounds.at(-1));
  for (const [name, field] of Object.entries(BUCKETS)) {
    const given = fake[name];
    if (Array.isArray(given)) fill(stats[field], given as readonly number[]);
  }
  stats.promptTokens = fake['total-prompt-tokens'] ?? stats.requestPromptTokens.sum;
  stats.generatedTokens = fake['total-generation-tokens'] ?? stats.requestGeneratedTokens.sum;
  stats.prefixHitTokens = fake['prefix-cache-hits'] ?? 0;
  stats.prefixQueriedTokens = fake['prefix-cache-queries'] ?? 0;
  for (const [reason, count] of Object.entries(fake['request-success-total'] ?? {})) {
    // vLLM has no series of their own for tool calls and remote decodes.
    if (reason === 'length') stats.finished.length += count;
    else stats.finished.stop += count;
  }
  return stats;
}

/** Observes the bound of each bucket as often as it is given; above all bounds, twice the last. */
function fill(histogram: Histogram, counts: readonly number[]): void {
  const { bounds } = histogram;
  const highest = 2 * (bounds.at(-1) ?? 0);
  for (const [index, count] of counts.entries()) {
    if (count > 0) histogram.observe(bounds[index] ?? highest, count);
  }
}
