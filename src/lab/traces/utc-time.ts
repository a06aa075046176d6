import type { Millis } from '../../framework/runtime.ts';

/** The shortest month has so many days. */
const DAYS_ALWAYS = 28;

/**
 * Reads `2023-11-16 18:15:46.6805900`, in UTC without an offset, to a ten-thousandth of a ms. NaN
 * for what is no time. Databases write offsets as `+00` or ` UTC`, and others as `+0000`.
 */
export function utcMs(text: string): Millis {
  const parts =
    /^(\d{4}-\d{2}-(\d{2}))[ T](\d{2}:\d{2}:\d{2})(\.\d+)?(Z| ?UTC|[+-]\d{2}(?::?\d{2})?)?$/.exec(
      text,
    );
  if (parts === null) return Number.NaN;
  const [, date = '', day, time = '', fraction = '', zone = 'Z'] = parts;
  if (Number(day) > DAYS_ALWAYS && !isDate(date)) return Number.NaN;
  const wholeMs = Date.parse(`${date}T${time}${offsetOf(zone)}`);
  return wholeMs + (fraction === '' ? 0 : 1000 * Number(`0${fraction}`));
}

/** The offset in the one way in which `Date.parse` reads it. */
function offsetOf(zone: string): string {
  if (zone.endsWith('UTC')) return 'Z';
  const [, hours, minutes = '00'] = /^([+-]\d{2}):?(\d{2})?$/.exec(zone) ?? [];
  return hours === undefined ? zone : `${hours}:${minutes}`;
}

/** `Date.parse` takes the 30th of February for the 2nd of March. */
function isDate(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

/** A time from the start of 1970 on, because traces have no date. */
export function utcText(atMs: Millis): string {
  const ticks = Math.round(atMs * 10_000);
  const seconds = Math.floor(ticks / 10_000_000);
  const [day, time] = new Date(1000 * seconds).toISOString().split(/[T.]/);
  return `${day} ${time}.${String(ticks % 10_000_000).padStart(7, '0')}`;
}
