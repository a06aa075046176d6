import { goDuration } from '../../src/framework/values/go-duration.ts';

/**
 * Milliseconds of one of Go's durations, such as `1m30s` or `250us`; a bare number has `bareMs`
 * milliseconds per unit. Returns undefined for anything else.
 */
export function durationMs(value: unknown, bareMs: number): number | undefined {
  if (typeof value === 'number') return value * bareMs;
  if (typeof value !== 'string') return undefined;
  const text = value.trim();
  if (/^\+?\d+(\.\d+)?$/.test(text)) return Number(text) * bareMs;
  return goDuration(text);
}

/** A duration as Go prints it, for settings that are read back. */
export function goDurationText(ms: number): string {
  if (ms === 0) return '0s';
  if (ms < 1) return `${Number((ms * 1000).toFixed(3))}µs`;
  return ms < 1000 ? `${Number(ms.toFixed(6))}ms` : `${Number((ms / 1000).toFixed(9))}s`;
}

const TRUE: ReadonlySet<string> = new Set(['1', 't', 'T', 'TRUE', 'true', 'True']);
const FALSE: ReadonlySet<string> = new Set(['0', 'f', 'F', 'FALSE', 'false', 'False']);

/** A boolean in one of Go's forms; undefined for anything else. */
export function goBoolean(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value;
  if (TRUE.has(String(value))) return true;
  return FALSE.has(String(value)) ? false : undefined;
}

const SUFFIXES: Readonly<Record<string, number>> = {
  k: 1e3,
  m: 1e6,
  g: 1e9,
  K: 1024,
  M: 1024 ** 2,
  G: 1024 ** 3,
};

/** A number, also in vLLM's short form: `8k` is 8,000 and `8K` is 8,192. NaN for anything else. */
export function shortNumber(value: unknown): number {
  if (typeof value === 'number') return value;
  const [, digits, suffix = ''] = /^([+-]?\d+(?:\.\d+)?)([kmgKMG]?)$/.exec(String(value)) ?? [];
  return digits === undefined ? Number.NaN : Number(digits) * (SUFFIXES[suffix] ?? 1);
}
