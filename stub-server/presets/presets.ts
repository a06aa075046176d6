import type { Millis } from '../../src/framework/runtime.ts';
import type { LatencyCoefficients, RooflineLatency } from '../engine/latency-model.ts';

/** An engine: one model on one accelerator or on several that share it. */
export interface Preset {
  /** Number of accelerators; 1 by default. */
  readonly accelerators?: number;
  readonly latency: LatencyCoefficients;
  readonly kvBlocks: number;
  readonly sequencesMax: number;
  readonly batchedTokensMax: number;
  /** From arrival until the scheduler sees a request: API server, tokenizer, IPC. */
  readonly admissionMs: Millis;
}

/** Roofline coefficients in the units in which benchmarks publish them. */
interface PublishedRoofline
  extends Pick<
    RooflineLatency,
    'stepMs' | 'weightsMs' | 'perAttendedSquareMs' | 'prefillMs' | 'eagerMs'
  > {
  readonly tokenMicros: number;
  readonly sequenceMicros: number;
  readonly contextTokenNanos: number;
}

function roofline({
  tokenMicros,
  sequenceMicros,
  contextTokenNanos,
  ...coefficients
}: PublishedRoofline): RooflineLatency {
  return {
    kind: 'roofline',
    ...coefficients,
    perTokenMs: tokenMicros / 1e3,
    perSequenceMs: sequenceMicros / 1e3,
    perContextTokenMs: contextTokenNanos / 1e6,
  };
}

type Defaults = Pick<Preset, 'sequencesMax' | 'batchedTokensMax' | 'admissionMs'>;

/**
 * vLLM's defaults on accelerators of at least 70 GiB, except the A100. The time of admission is
 * fitted to the idle TTFT on H100 (see below); all accelerators have the same front end.
 */
export const LARGE: Defaults = { sequencesMax: 1024, batchedTokensMax: 8192, admissionMs: 15 };
/** Its defaults on all other accelerators. */
export const SMALL: Defaults = { ...LARGE, sequencesMax: 256, batchedTokensMax: 2048 };

export type PresetName =
  | 'study'
  | 'llama-3.1-8b-h100'
  | 'llama-3.1-8b-a100'
  | 'llama-3.1-8b-l40s'
  | 'llama-3.1-8b-h200'
  | 'qwen3-14b-h100'
  | 'llama-3.3-70b-h100-tp4'
  | 'llama-3.3-70b-h100-tp8'
  | 'llama-3.3-70b-a100-tp4';

/**
 * KV blocks of 16 tokens: memory × 0.90 − weights − overhead, within 8 % of published vLLM logs.
 * Each preset names the source of its coefficients. None is validated on prompts of more than a few
 * hundred tokens.
 */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  // The linear engine of the project's policy study, with an 8 B model's memory on 80 GB.
  study: {
    latency: {
      kind: 'linear',
      baseMs: 6,
      perPrefillTokenMs: 0.04,
      perDecodeSequenceMs: 0.05,
      perContextTokenMs: 0.00002,
    },
    kvBlocks: 27_000,
    sequencesMax: 256,
    batchedTokensMax: 8192,
    admissionMs: 0,
  },
  // Fitted to vLLM 0.11.0 (inference-perf, KubeCon NA 2025, 21 points); mean error of E2E: 4.2 %.
  'llama-3.1-8b-h100': {
    latency: roofline({
      stepMs: 0.56,
      weightsMs: 7,
      tokenMicros: 21.3,
      sequenceMicros: 14.7,
      contextTokenNanos: 40,
      perAttendedSquareMs: 5.3e-7,
      prefillMs: 0.49,
      eagerMs: 2.9,
    }),
    kvBlocks: 27_000,
    ...LARGE,
  },
  // From Vidur's operator tables and BLIS's regression for A100; ±20 %.
  'llama-3.1-8b-a100': {
    latency: roofline({
      stepMs: 0.8,
      weightsMs: 10.5,
      tokenMicros: 66,
      sequenceMicros: 18,
      contextTokenNanos: 86,
      perAttendedSquareMs: 1.7e-6,
      prefillMs: 0.5,
      eagerMs: 2,
    }),
    kvBlocks: 28_000,
    ...SMALL,
  },
  // Computed from peak compute and bandwidth; ±30 %.
  'llama-3.1-8b-l40s': {
    latency: roofline({
      stepMs: 0.8,
      weightsMs: 22,
      tokenMicros: 75,
      sequenceMicros: 18,
      contextTokenNanos: 190,
      perAttendedSquareMs: 1.5e-6,
      prefillMs: 0.5,
      eagerMs: 2,
    }),
    kvBlocks: 12_000,
    ...SMALL,
  },
  // The H100 fit scaled by memory bandwidth; ±15 %.
  'llama-3.1-8b-h200': {
    latency: roofline({
      stepMs: 0.56,
      weightsMs: 5.2,
      tokenMicros: 21,
      sequenceMicros: 14.7,
      contextTokenNanos: 30,
      perAttendedSquareMs: 5.3e-7,
      prefillMs: 0.49,
      eagerMs: 2,
    }),
    kvBlocks: 54_900,
    ...LARGE,
  },
  // From BLIS's regression of Qwen3-14B on H100.
  'qwen3-14b-h100': {
    latency: roofline({
      stepMs: 0.6,
      weightsMs: 12.9,
      tokenMicros: 39.4,
      sequenceMicros: 20,
      contextTokenNanos: 55,
      perAttendedSquareMs: 8e-7,
      prefillMs: 0.5,
      eagerMs: 3,
    }),
    kvBlocks: 16_200,
    ...LARGE,
  },
  // From Vidur's operator tables for a 70 B model plus NCCL all-reduce times; ±25 %.
  'llama-3.3-70b-h100-tp4': {
    accelerators: 4,
    latency: roofline({
      stepMs: 0.8,
      weightsMs: 16,
      tokenMicros: 70,
      sequenceMicros: 25,
      contextTokenNanos: 35,
      perAttendedSquareMs: 6.6e-7,
      prefillMs: 0.7,
      eagerMs: 3,
    }),
    kvBlocks: 28_000,
    ...LARGE,
  },
  // From the same sources; ±25 %.
  'llama-3.3-70b-h100-tp8': {
    accelerators: 8,
    latency: roofline({
      stepMs: 0.9,
      weightsMs: 10.8,
      tokenMicros: 40,
      sequenceMicros: 25,
      contextTokenNanos: 18,
      perAttendedSquareMs: 3.3e-7,
      prefillMs: 0.7,
      eagerMs: 3,
    }),
    kvBlocks: 83_000,
    ...LARGE,
  },
  // From the same sources; ±25 %.
  'llama-3.3-70b-a100-tp4': {
    accelerators: 4,
    latency: roofline({
      stepMs: 1,
      weightsMs: 27,
      tokenMicros: 185,
      sequenceMicros: 30,
      contextTokenNanos: 60,
      perAttendedSquareMs: 2.1e-6,
      prefillMs: 0.8,
      eagerMs: 3,
    }),
    kvBlocks: 29_600,
    ...SMALL,
  },
};
