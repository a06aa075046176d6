/** The reference picker's bucket bounds, so that its dashboards and rules fit our page. */

function powersOfTwo(first: number, last: number): readonly number[] {
  const bounds: number[] = [];
  for (let bound = first; bound <= last; bound *= 2) bounds.push(bound);
  return bounds;
}

export const DURATION_SECONDS: readonly number[] = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
  60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
];

export const TTFT_SECONDS: readonly number[] = DURATION_SECONDS.filter((bound) => bound <= 120);

export const NTPOT_SECONDS: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
];

export const TPOT_SECONDS: readonly number[] = [
  0.0005, 0.00205, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6,
  0.8, 1, 2,
];

export const ITL_SECONDS: readonly number[] = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 2,
];

export const REQUEST_PROCESSING_SECONDS: readonly number[] = [
  0.0005, 0.001, 0.002, 0.005, 0.01, 0.015, 0.025, 0.04, 0.06, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export const RESPONSE_PROCESSING_SECONDS: readonly number[] = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5,
];

export const STREAM_SECONDS: readonly number[] = [
  0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 120, 300, 600,
];

export const SCHEDULER_SECONDS: readonly number[] = [
  0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
];

export const WAITING_SECONDS: readonly number[] = [
  0.0001, 0.0005, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60,
];

/** The usual bounds of Prometheus' client libraries. */
export const USUAL_SECONDS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
];

export const REQUEST_BYTES: readonly number[] = powersOfTwo(64, 1_073_741_824);

/** The reference has 32778 where a power of two was meant. */
export const RESPONSE_BYTES: readonly number[] = [1, ...powersOfTwo(8, 16_384), 32_778, 65_536];

export const INPUT_TOKENS: readonly number[] = [
  ...RESPONSE_BYTES,
  ...powersOfTwo(131_072, 1_048_576),
];

export const OUTPUT_TOKENS: readonly number[] = [1, ...powersOfTwo(8, 8192)];

export const HIT_RATIO: readonly number[] = Array.from({ length: 11 }, (_, index) => index / 10);

export const HIT_BYTES: readonly number[] = [0, ...powersOfTwo(16, 65_536)];
