/** Buckets of vLLM V1 (vllm/v1/metrics/loggers.py): seconds for times, otherwise counts. */
export const FIRST_TOKEN: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
  160, 640, 2560,
];
export const PER_TOKEN: readonly number[] = [
  0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80,
];
export const REQUEST: readonly number[] = [
  0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680,
];
export const STEP_TOKENS: readonly number[] = [
  1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384,
];
export const ANSWERS: readonly number[] = [1, 2, 5, 10, 20];
export const PREFILL_PER_TOKEN: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
];

/** 1, 2 and 5 times each power of ten, up to the model's context. */
export function tokenCounts(contextTokensMax: number): readonly number[] {
  const bounds: number[] = [];
  for (let power = 1; power <= contextTokensMax; power *= 10) {
    for (const digit of [1, 2, 5]) {
      if (digit * power <= contextTokensMax) bounds.push(digit * power);
    }
  }
  return bounds;
}

/** Buckets of SGLang, in seconds. */
export const SGLANG_FIRST_TOKEN: readonly number[] = [
  0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 8, 10, 20, 40, 60, 80, 100, 200, 400,
];
export const SGLANG_REQUEST: readonly number[] = [...SGLANG_FIRST_TOKEN, 600, 1200, 1800, 2400];
export const SGLANG_PER_TOKEN: readonly number[] = [
  0.002, 0.004, 0.006, 0.008, 0.01, 0.015, 0.02, 0.025, 0.03, 0.035, 0.04, 0.06, 0.08, 0.1, 0.2,
  0.4, 0.6, 0.8, 1, 2, 4, 6, 8,
];
