import type { LogPrior } from './gauss-newton.ts';

interface HardwareModel {
  readonly parameters: number;
  readonly weightBytes: number;
  /** Size of keys and values of one token over all layers. */
  readonly kvBytesPerToken: number;
}

interface Accelerator {
  /** Peak operations per second, dense, in the weights' precision. */
  readonly flops: number;
  readonly bytesPerSecond: number;
  /** Memory as drivers report it. */
  readonly memoryBytes: number;
  /** Whether vLLM's API server uses its larger defaults: at least 70 GiB, except on the A100. */
  readonly large: boolean;
}

export const LLAMA_8B: HardwareModel = {
  parameters: 8.03e9,
  weightBytes: 16.06e9,
  kvBytesPerToken: 131_072,
};

export type AcceleratorName = 'h100' | 'h200' | 'a100' | 'l40s';

export const GIB: number = 2 ** 30;

/** NVIDIA's data sheets, bfloat16 without sparsity. */
export const ACCELERATORS: Readonly<Record<AcceleratorName, Accelerator>> = {
  h100: { flops: 989.5e12, bytesPerSecond: 3.35e12, memoryBytes: 79.6 * GIB, large: true },
  h200: { flops: 989.5e12, bytesPerSecond: 4.8e12, memoryBytes: 140.4 * GIB, large: true },
  a100: { flops: 312e12, bytesPerSecond: 2.04e12, memoryBytes: 79.3 * GIB, large: false },
  l40s: { flops: 362e12, bytesPerSecond: 0.864e12, memoryBytes: 44.4 * GIB, large: false },
};

/** Share of peak compute and bandwidth that engines reach: 0.63 to 0.81 in published tables. */
const PEAK_SHARE = 0.7;
/** Share of peak bandwidth that reading the KV cache reaches. */
const KV_SHARE = 0.75;

/** The coefficients that follow from a model's size and an accelerator's peaks. */
export function peakTimes(
  { parameters, weightBytes, kvBytesPerToken }: HardwareModel,
  { flops, bytesPerSecond }: Pick<Accelerator, 'flops' | 'bytesPerSecond'>,
): Readonly<Record<'weightsMs' | 'perTokenMs' | 'perContextTokenMs', number>> {
  return {
    weightsMs: (1e3 * weightBytes) / (PEAK_SHARE * bytesPerSecond),
    perTokenMs: (1e3 * 2 * parameters) / (PEAK_SHARE * flops),
    perContextTokenMs: (1e3 * kvBytesPerToken) / (KV_SHARE * bytesPerSecond),
  };
}

/** Coefficients that a step does not show. */
export const OUTSIDE_ENGINE: ReadonlySet<string> = new Set([
  'admissionMs',
  'admissionPerSequenceMs',
  'completionMs',
  'connectMs',
]);

/** An engine's coefficients as its hardware suggests them, before any measurement. */
export function hardwarePriors(model: HardwareModel, peak: Accelerator): readonly LogPrior[] {
  const { weightsMs, perTokenMs, perContextTokenMs } = peakTimes(model, peak);
  return [
    // Scheduling and launching; published regressions leave 0.3 to 1.5 ms.
    { name: 'stepMs', mean: 0.6, spread: 0.6 },
    { name: 'weightsMs', mean: weightsMs, spread: 0.08 },
    { name: 'perTokenMs', mean: perTokenMs, spread: 0.08 },
    // Sampling and detokenizing: 9 to 25 µs per sequence.
    { name: 'perSequenceMs', mean: 0.015, spread: 0.4 },
    { name: 'perContextTokenMs', mean: perContextTokenMs, spread: 0.3 },
    { name: 'prefillMs', mean: 0.5, spread: 0.6 },
    { name: 'eagerMs', mean: 2, spread: 0.6 },
    // Outside the engine: 5 to 25 ms before it (aisimulate#288, BLIS), and some time after it.
    { name: 'admissionMs', mean: 12, spread: 0.6 },
    // Detokenizing and writing one token in Python, in the process that also takes requests.
    { name: 'admissionPerSequenceMs', mean: 0.03, spread: 0.6 },
    { name: 'completionMs', mean: 2, spread: 0.8 },
    // In the client: a name to look up and a handshake within a cluster.
    { name: 'connectMs', mean: 3, spread: 0.6 },
  ];
}
