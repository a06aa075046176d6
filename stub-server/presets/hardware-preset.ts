import { ACCELERATORS, type AcceleratorName } from '../calibration/hardware-priors.ts';
import type { Preset } from './presets.ts';

/** A model on accelerators that nobody has measured together. */
export interface Hardware {
  readonly accelerator: AcceleratorName;
  /** How many of them share the model. */
  readonly tensorParallel: number;
  /** Of the model: those used for one token. */
  readonly parameters: number;
  /** Of all weights; two a parameter unless said. */
  readonly weightBytes?: number | undefined;
  readonly layers: number;
  /** Keys and values of one token over all layers. */
  readonly kvBytesPerToken: number;
  readonly vocabulary: number;
  /** vLLM's gpu_memory_utilization. */
  readonly memoryShare: number;
}

const GIB = 2 ** 30;
const BLOCK_TOKENS = 16;
/** Shares of the peak that engines reach. Compute and weights 0.65 to 0.78 in published tables, KV reads 0.75. */
const PEAK_SHARE = 0.7;
const KV_SHARE = 0.75;
const ATTENTION_SHARE = 0.5;
/** Two all-reduces of some 12 µs a layer where several accelerators share a model; they cost compute, too. */
const ALL_REDUCE_MS = 0.024;
const SHARED_COMPUTE = 1.2;

/**
 * Step time and memory by arithmetic from data sheets: within 30 % of published engines in time, 8 % in memory. Attention
 * is taken to be as wide as the model, √(parameters / 12 / layers), which holds for dense transformers.
 */
export function hardwarePreset(hardware: Hardware): Preset {
  const { tensorParallel, parameters, layers, kvBytesPerToken } = hardware;
  const { weightBytes = 2 * parameters } = hardware;
  const { flops, bytesPerSecond, large } = ACCELERATORS[hardware.accelerator];
  const [peakFlops, bandwidth] = [flops * tensorParallel, bytesPerSecond * tensorParallel];
  const shared = tensorParallel > 1;
  const width = Math.sqrt(parameters / (12 * layers));
  const sequencesMax = large ? 1024 : 256;
  return {
    latency: {
      kind: 'roofline',
      stepMs: 0.8,
      weightsMs:
        (1e3 * weightBytes) / (PEAK_SHARE * bandwidth) + (shared ? ALL_REDUCE_MS * layers : 0),
      perTokenMs:
        ((1e3 * 2 * parameters) / (PEAK_SHARE * peakFlops)) * (shared ? SHARED_COMPUTE : 1),
      perSequenceMs: 0.018,
      perContextTokenMs: (1e3 * kvBytesPerToken) / (KV_SHARE * bandwidth),
      perAttendedSquareMs: (1e3 * 2 * width * layers) / (ATTENTION_SHARE * peakFlops),
      prefillMs: 0.5,
      eagerMs: 2,
    },
    kvBlocks: Math.floor(
      kvBytes(hardware, { weightBytes, sequencesMax }) / (BLOCK_TOKENS * kvBytesPerToken),
    ),
    sequencesMax,
    batchedTokensMax: large ? 8192 : 2048,
    admissionMs: 15,
  };
}

/** What is left for the KV cache; 0 or less when the weights do not fit. Overheads fitted to vLLM's logs. */
function kvBytes(
  { accelerator, tensorParallel, vocabulary, memoryShare }: Hardware,
  { weightBytes, sequencesMax }: { readonly weightBytes: number; readonly sequencesMax: number },
): number {
  const samplerBytes = 5.5 * sequencesMax * vocabulary * 4;
  const overhead = 0.9 * GIB + samplerBytes + (tensorParallel > 1 ? 0.6 * GIB : 0);
  const memory = ACCELERATORS[accelerator].memoryBytes * memoryShare;
  return tensorParallel * (memory - overhead) - weightBytes;
}
