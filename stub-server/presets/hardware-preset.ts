import { ACCELERATORS, type AcceleratorName, GIB, peakTimes } from '../calibration/hardware.ts';
import { LARGE, type Preset, SMALL } from './presets.ts';

/** A model on accelerators for which there is no measurement. */
export interface Hardware {
  readonly accelerator: AcceleratorName;
  /** Number of accelerators that share the model. */
  readonly tensorParallel: number;
  /** Parameters of the model that are used for one token. */
  readonly parameters: number;
  /** Size of all weights; two bytes per parameter by default. */
  readonly weightBytes?: number | undefined;
  readonly layers: number;
  readonly kvBytesPerToken: number;
  readonly vocabulary: number;
  /** vLLM's gpu_memory_utilization. */
  readonly memoryShare: number;
}

const BLOCK_TOKENS = 16;
/** Share of peak compute that attention within prompts reaches. */
const ATTENTION_SHARE = 0.5;
/** Two all-reduces of about 12 µs per layer where several accelerators share a model. */
const ALL_REDUCE_MS = 0.024;
/** Factor on computing time where several accelerators share a model. */
const SHARED_COMPUTE = 1.2;

/**
 * Step time and memory from data sheets: within 30 % of published engines in time, 8 % in memory.
 * Attention is as wide as a dense transformer, √(parameters / 12 / layers).
 */
export function hardwarePreset(hardware: Hardware): Preset {
  const { tensorParallel, parameters, layers, kvBytesPerToken } = hardware;
  const { weightBytes = 2 * parameters } = hardware;
  const { flops, bytesPerSecond, large } = ACCELERATORS[hardware.accelerator];
  const peak = { flops: flops * tensorParallel, bytesPerSecond: bytesPerSecond * tensorParallel };
  const times = peakTimes({ parameters, weightBytes, kvBytesPerToken }, peak);
  const shared = tensorParallel > 1;
  const width = Math.sqrt(parameters / (12 * layers));
  const defaults = large ? LARGE : SMALL;
  const kvBytes = kvBytesOf(hardware, weightBytes, defaults.sequencesMax);
  return {
    latency: {
      kind: 'roofline',
      stepMs: 0.8,
      weightsMs: times.weightsMs + (shared ? ALL_REDUCE_MS * layers : 0),
      perTokenMs: times.perTokenMs * (shared ? SHARED_COMPUTE : 1),
      perSequenceMs: 0.018,
      perContextTokenMs: times.perContextTokenMs,
      perAttendedSquareMs: (1e3 * 2 * width * layers) / (ATTENTION_SHARE * peak.flops),
      prefillMs: 0.5,
      eagerMs: 2,
    },
    kvBlocks: Math.floor(kvBytes / (BLOCK_TOKENS * kvBytesPerToken)),
    ...defaults,
  };
}

/** Memory left for KV; 0 or less if the weights do not fit. Overheads are fitted to vLLM's logs. */
function kvBytesOf(
  { accelerator, tensorParallel, vocabulary, memoryShare }: Hardware,
  weightBytes: number,
  sequencesMax: number,
): number {
  const samplerBytes = 5.5 * sequencesMax * vocabulary * 4;
  const overhead = 0.9 * GIB + samplerBytes + (tensorParallel > 1 ? 0.6 * GIB : 0);
  const memory = ACCELERATORS[accelerator].memoryBytes * memoryShare;
  return tensorParallel * (memory - overhead) - weightBytes;
}
