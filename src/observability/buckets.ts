/** Histogram buckets of the reference picker, so that its dashboards fit. Seconds, bytes, tokens. */
interface Buckets {
  readonly requestSeconds: readonly number[];
  readonly ttftSeconds: readonly number[];
  readonly tpotSeconds: readonly number[];
  readonly ntpotSeconds: readonly number[];
  readonly requestBytes: readonly number[];
  readonly inputTokens: readonly number[];
  readonly outputTokens: readonly number[];
  readonly schedulerSeconds: readonly number[];
  readonly ratio: readonly number[];
}

export const BUCKETS: Buckets = {
  requestSeconds: [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
    60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
  ],
  ttftSeconds: [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45,
    60, 120,
  ],
  tpotSeconds: [
    0.0005, 0.00205, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.125, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6,
    0.8, 1, 2,
  ],
  ntpotSeconds: [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10],
  requestBytes: Array.from({ length: 25 }, (_, power) => 64 * 2 ** power),
  inputTokens: [
    1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_778, 65_536, 131_072,
    262_144, 524_288, 1_048_576,
  ],
  outputTokens: [1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
  schedulerSeconds: [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1],
  ratio: [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1],
};
