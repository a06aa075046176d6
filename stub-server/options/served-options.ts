import { z } from 'zod';
import { ENCODER_DEFAULTS, type EncoderOptions } from '../engine/encoder.ts';
import { NO_TIME, type Timings } from '../engine/timings.ts';
import { FAILURE_TYPES, type FailureType } from '../faults/failure-types.ts';
import { type FakeMetrics, fakeMetricsSchema } from '../metrics/fake-metrics.ts';

/** Failures that are drawn for requests of generating APIs. */
export interface FailureInjection {
  /** In percent. */
  readonly rate: number;
  /** Drawn from evenly; all where it is empty. */
  readonly types: readonly FailureType[];
}

/** Images behind the text of chats, as of a model that makes both. */
export interface ChatImages {
  /** In percent of the chats that do not ask for an image. */
  readonly percent: number;
  /** How long an image takes. */
  readonly ms: number;
  readonly deviationMs: number;
}

/** Where KV events go, where it is not one port for each server. */
export interface KvEventsTarget {
  /** A ZMQ address; vLLM's rule says whether to bind or to connect. Ranks add to its port. */
  readonly endpoint: string;
  readonly replayEndpoint?: string | undefined;
  /** Batches that are kept for replays. */
  readonly replayBatches?: number | undefined;
  /** Empty: `kv@host:port@model`. */
  readonly topic: string;
}

export interface TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What a server does beside its engine, as vLLM and llm-d-inference-sim have it. */
export interface ServedOptions {
  /** Further names of the model. */
  readonly aliases: readonly string[];
  /** The model's path or repository; `model` where it is left out. */
  readonly modelRoot?: string | undefined;
  /** Paths of adapters by name; its name where an adapter has none. */
  readonly loraPaths: Readonly<Record<string, string>>;
  /** Adapters in host memory; `lorasMax` where it is left out. */
  readonly hostLorasMax?: number | undefined;
  /** Fixed times instead of the engine's steps. */
  readonly timings?: Timings | undefined;
  /** Tokens of prompt and answer; bounded by the KV memory in any case. */
  readonly contextTokensMax?: number | undefined;
  /** Waiting requests above which others are answered with 429. */
  readonly waitingMax?: number | undefined;
  readonly prefixCaching: boolean;
  /** For requests that do not say one themselves. */
  readonly cacheHitThreshold: number;
  readonly mode: 'random' | 'echo';
  /** A file of answers, JSON Lines. */
  readonly dataset?: string | undefined;
  readonly failures: FailureInjection;
  readonly fakeMetrics?: FakeMetrics | undefined;
  /** Undefined for a server that answers chats with text alone. */
  readonly images?: ChatImages | undefined;
  readonly requestIdHeaders: boolean;
  /** Whether chats and completions are refused that vLLM refuses and a lenient server serves. */
  readonly strict: boolean;
  /** A longer request body is refused with 413; undefined: as long as the server's bound. */
  readonly bodyBytesMax?: number | undefined;
  /** The pod's name and namespace, for headers of answers. */
  readonly pod?: string | undefined;
  readonly podNamespace?: string | undefined;
  /** The address in topics of KV events, where it is not `host`. */
  readonly podIp?: string | undefined;
  readonly embeddingDimensions: number;
  /** Clients must send one of them as a bearer token, if there are any. */
  readonly apiKeys: readonly string[];
  /** Time after the start until /health/ready answers 200. */
  readonly readyAfterMs: number;
  readonly tls?: TlsFiles | 'self-signed' | undefined;
  readonly kvEventsTarget?: KvEventsTarget | undefined;
  readonly encoder: EncoderOptions;
  /** Whether it encodes media and has no language model. */
  readonly encoderOnly: boolean;
  /** Whether answers say where the results of its encoder are. */
  readonly servesEncodings: boolean;
  /**
   * Whether a decode leg's blocks are held for the next turn's prefill leg, which then takes them.
   */
  readonly bidirectionalKv: boolean;
}

const ms = z.number().nonnegative();
/** More than this share of the mean is refused, as by llm-d-inference-sim; 3.3 of 11 is not. */
const DEVIATION_MAX = 0.3 + 1e-9;

const timingsSchema: z.ZodType<Timings> = z
  .strictObject({
    calculator: z.enum(['', 'constant', 'per-token']).default(NO_TIME.calculator),
    firstTokenMs: ms.default(0),
    firstTokenDeviationMs: ms.default(0),
    prefillOverheadMs: ms.default(0),
    prefillPerTokenMs: ms.default(0),
    prefillDeviationMs: ms.default(0),
    interTokenMs: ms.default(0),
    interTokenDeviationMs: ms.default(0),
    transferMs: ms.default(0),
    transferDeviationMs: ms.default(0),
    transferPerTokenMs: ms.default(0),
    transferTokensDeviationMs: ms.default(0),
    loadFactor: z.number().min(1).default(1),
  })
  .superRefine((timings, context) => {
    const pairs = [
      ['firstTokenDeviationMs', 'firstTokenMs'],
      ['interTokenDeviationMs', 'interTokenMs'],
      ['transferDeviationMs', 'transferMs'],
    ] as const;
    for (const [deviation, mean] of pairs) {
      if (timings[deviation] <= DEVIATION_MAX * timings[mean]) continue;
      const message = `is ${timings[deviation]} ms, more than 30 % of ${mean} (${timings[mean]} ms): lower it`;
      context.addIssue({ code: 'custom', path: [deviation], message });
    }
  });

const imagesSchema: z.ZodType<ChatImages> = z
  .strictObject({
    percent: z.number().min(0).max(100).default(0),
    ms: ms.default(0),
    deviationMs: ms.default(0),
  })
  .superRefine((images, context) => {
    if (images.deviationMs <= DEVIATION_MAX * images.ms) return;
    const message = `is ${images.deviationMs} ms, more than 30 % of ms (${images.ms} ms): lower it`;
    context.addIssue({ code: 'custom', path: ['deviationMs'], message });
  });

/** Checks images as a whole. Throws ZodError. */
export function checkImages(given: unknown): ChatImages {
  return imagesSchema.parse(given);
}

/** Checks times as a whole. Throws ZodError. */
export function checkTimings(given: unknown): Timings {
  return timingsSchema.parse(given);
}

export const SERVED_FIELDS: Readonly<{
  [Key in keyof ServedOptions]-?: z.ZodType<ServedOptions[Key]>;
}> = {
  aliases: z.array(z.string().min(1)).default([]),
  modelRoot: z.string().min(1).optional(),
  loraPaths: z.record(z.string(), z.string()).default({}),
  hostLorasMax: z.int().positive().optional(),
  timings: timingsSchema.optional(),
  contextTokensMax: z.int().positive().optional(),
  waitingMax: z.int().positive().optional(),
  prefixCaching: z.boolean().default(true),
  cacheHitThreshold: z.number().min(0).max(1).default(0),
  mode: z.enum(['random', 'echo']).default('random'),
  dataset: z.string().min(1).optional(),
  failures: z
    .strictObject({
      rate: z.number().min(0).max(100).default(0),
      types: z.array(z.enum(FAILURE_TYPES)).default([]),
    })
    .default({ rate: 0, types: [] }),
  fakeMetrics: fakeMetricsSchema.optional(),
  images: imagesSchema.optional(),
  requestIdHeaders: z.boolean().default(false),
  strict: z.boolean().default(false),
  bodyBytesMax: z.int().positive().optional(),
  pod: z.string().min(1).optional(),
  podNamespace: z.string().min(1).optional(),
  podIp: z.string().min(1).optional(),
  embeddingDimensions: z.int().positive().max(16_384).default(384),
  encoderOnly: z.boolean().default(false),
  servesEncodings: z.boolean().default(false),
  bidirectionalKv: z.boolean().default(false),
  apiKeys: z.array(z.string().min(1)).default([]),
  readyAfterMs: ms.default(0),
  tls: z
    .union([
      z.literal('self-signed'),
      z.strictObject({ certFile: z.string().min(1), keyFile: z.string().min(1) }),
    ])
    .optional(),
  encoder: z
    .strictObject({
      itemMs: ms.default(ENCODER_DEFAULTS.itemMs),
      perTokenMs: ms.default(ENCODER_DEFAULTS.perTokenMs),
      cacheTokens: z.int().nonnegative().default(ENCODER_DEFAULTS.cacheTokens),
    })
    .default(ENCODER_DEFAULTS),
  kvEventsTarget: z
    .strictObject({
      endpoint: z.string().min(1),
      replayEndpoint: z.string().min(1).optional(),
      replayBatches: z.int().positive().optional(),
      topic: z.string().default(''),
    })
    .optional(),
};
