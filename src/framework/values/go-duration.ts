const UNIT_NS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  // The micro sign and the Greek letter, both of which Go reads.
  µs: 1e3,
  μs: 1e3,
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};
const MILLISECOND_NS = 1e6;
const TEXT = /^[-+]?(?:(?:\d+\.?\d*|\.\d+)(?:ms|us|µs|μs|ns|h|m|s))+$/;
const PART = /(\d*)(?:\.(\d*))?([a-zµμ]+)/g;
/** Go counts a duration as nanoseconds in 64 bits: it ends at 292 years. */
const NANOSECONDS_MAX = 2n ** 63n - 1n;

/**
 * The milliseconds of a duration in Go's notation, such as `5s`, `1m30s`, `250ms` or `0`. Undefined
 * for other text, for more than 292 years, and for less than 0. Fractions of a nanosecond are
 * dropped, as Go does.
 */
export function goDuration(text: string): number | undefined {
  if (/^[-+]?0$/.test(text)) return 0;
  if (!TEXT.test(text)) return undefined;
  let sum = 0n;
  for (const [, whole = '', fraction = '', unit = ''] of text.matchAll(PART)) {
    const unitNs = UNIT_NS[unit] ?? 0;
    sum += BigInt(whole) * BigInt(unitNs) + BigInt(Math.trunc(Number(`0.${fraction}`) * unitNs));
    if (sum > NANOSECONDS_MAX) return undefined;
  }
  if (text.startsWith('-') && sum > 0n) return undefined;
  return Number(sum) / MILLISECOND_NS;
}

/** The milliseconds of a number that Go reads as a duration, which is whole nanoseconds. */
export function goNanoseconds(nanoseconds: number): number | undefined {
  if (!Number.isInteger(nanoseconds) || nanoseconds > Number(NANOSECONDS_MAX)) return undefined;
  return nanoseconds / MILLISECOND_NS;
}
