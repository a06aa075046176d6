import type { LogPrior } from './gauss-newton.ts';

export interface HardwareModel {
  readonly parameters: number;
  /** Of all weights. */
  readonly weightBytes: number;
  /** Keys and values of one token over all layers. */
  readonly kvBytesPerToken: number;
}

export interface Accelerator {
  /** Dense, in the weights' precision. */
  readonly flops: number;
  readonly bytesPerSecond: number;
  /** As drivers report it. */
  readonly memoryBytes: number;
  /** Whether vLLM's API server takes its larger defaults on it: 70 GiB and more, A100 left out. */
  readonly large: boolean;
}

export const LLAMA_8B: HardwareModel = {
  parameters: 8.03e9,
  weightBytes: 16.06e9,
  kvBytesPerToken: 131_072,
};

export type AcceleratorName = 'h100' | 'h200' | 'a100' | 'l40s';

const GIB = 2 ** 30;

/** NVIDIA's data sheets, bfloat16 without sparsity. */
export const ACCELERATORS: Readonly<Record<AcceleratorName, Accelerator>> = {
  h100: { flops: 989.5e12, bytesPerSecond: 3.35e12, memoryBytes: 79.6 * GIB, large: true },
  h200: { flops: 989.5e12, bytesPerSecond: 4.8e12, memoryBytes: 140.4 * GIB, large: true },
  a100: { flops: 312e12, bytesPerSecond: 2.04e12, memoryBytes: 79.3 * GIB, large: false },
  l40s: { flops: 362e12, bytesPerSecond: 0.864e12, memoryBytes: 44.4 * GIB, large: false },
};

/** Shares of the peak that engines reach: 65 to 78 % of compute, 63 to 81 % of bandwidth, in published tables. */
const COMPUTE_SHARE = 0.7;
const BANDWIDTH_SHARE = 0.7;
const KV_BANDWIDTH_SHARE = 0.75;

/** What an engine's coefficients should be from what its hardware can do, before anything was measured. */
export function hardwarePriors(
  model: HardwareModel,
  { flops, bytesPerSecond }: Accelerator,
): readonly LogPrior[] {
  const { parameters, weightBytes, kvBytesPerToken } = model;
  return [
    // The rest of a step: scheduling, launching; published regressions leave 0.3 to 1.5 ms.
    { name: 'stepMs', mean: 0.6, spread: 0.6 },
    {
      name: 'weightsMs',
      mean: (1e3 * weightBytes) / (BANDWIDTH_SHARE * bytesPerSecond),
      spread: 0.08,
    },
    { name: 'perTokenMs', mean: (1e3 * 2 * parameters) / (COMPUTE_SHARE * flops), spread: 0.08 },
    // Sampling and detokenizing: 9 to 25 µs a sequence.
    { name: 'perSequenceMs', mean: 0.015, spread: 0.4 },
    {
      name: 'perContextTokenMs',
      mean: (1e3 * kvBytesPerToken) / (KV_BANDWIDTH_SHARE * bytesPerSecond),
      spread: 0.3,
    },
    { name: 'prefillMs', mean: 0.5, spread: 0.6 },
    { name: 'eagerMs', mean: 2, spread: 0.6 },
    // Outside the engine: 5 to 25 ms before (aisimulate#288, BLIS), some after.
    { name: 'admissionMs', mean: 12, spread: 0.6 },
    { name: 'completionMs', mean: 2, spread: 0.8 },
  ];
}
