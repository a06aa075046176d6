import type { Millis } from './runtime.ts';

const UNIT_MS: Readonly<Record<string, Millis>> = {
  ns: 1e-6,
  us: 1e-3,
  // The micro sign and the Greek letter, both of which Go reads.
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
};

/** A duration in Go's notation, such as `5s`, `1m30s`, `250ms` or `0`; undefined for other text. */
export function goDuration(text: string): Millis | undefined {
  if (text === '0') return 0;
  if (!/^\+?(?:(?:\d+\.?\d*|\.\d+)(?:ms|us|µs|μs|ns|h|m|s))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+\.?\d*|\.\d+)([a-zµμ]+)/g)) {
    sum += Number(count) * (UNIT_MS[unit] ?? 0);
  }
  return sum;
}
