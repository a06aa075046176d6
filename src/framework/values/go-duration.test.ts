import { describe, expect, test } from 'vitest';
import { goDuration, goNanoseconds } from './go-duration.ts';

describe('a duration in Go’s notation', () => {
  test.each([
    ['0', 0],
    ['+0', 0],
    ['5s', 5000],
    ['+1h', 3_600_000],
    ['.5s', 500],
    ['5.s', 5000],
    ['1m30s', 90_000],
    ['1s1h', 3_601_000],
    ['1µs', 1e-3],
    ['1μs', 1e-3],
    ['1.5ns', 1e-6],
    ['0.5ns', 0],
    ['0s', 0],
    ['-0s', 0],
  ])('[D558] %s has %s ms', (text, millis) => {
    expect(goDuration(text)).toBe(millis);
  });

  test.each([
    '',
    '5',
    '1d',
    '1H',
    '5 s',
    ' 5s',
    '1e3s',
    '1_0s',
    '1h-',
    '-5s',
    '.s',
    '1.5.5s',
    '++1s',
  ])('[D558] `%s` is none', (text) => {
    expect(goDuration(text)).toBeUndefined();
  });

  test('[D558] ends where 64 bits do not hold its nanoseconds, after 292 years', () => {
    expect(goDuration('2562047h47m16.854775807s')).toBeCloseTo(9_223_372_036_854.775, 3);
    expect(goDuration('2562047h47m16.854775808s')).toBeUndefined();
    expect(goDuration('2562048h')).toBeUndefined();
    expect(goDuration('9223372036854775808ns')).toBeUndefined();
    expect(goDuration(`${'9'.repeat(400)}h`)).toBeUndefined();
  });

  test('[D558] a number is whole nanoseconds', () => {
    expect(goNanoseconds(60_000_000_000)).toBe(60_000);
    expect(goNanoseconds(0.5)).toBeUndefined();
    expect(goNanoseconds(1e19)).toBeUndefined();
  });
});
