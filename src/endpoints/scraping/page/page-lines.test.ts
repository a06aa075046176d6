import { assert, constantFrom, double, integer, oneof, property, string, tuple } from 'fast-check';
import { expect, it, test } from 'vitest';
import { numberAt } from './page-lines.ts';

const SEED = 20_261_122;

const read = (text: string, after = '\n'): number | undefined =>
  numberAt(Buffer.from(`${text}${after}`), 0, Buffer.byteLength(text));

const words = oneof(
  integer().map(String),
  double().map(String),
  double({ min: 0, max: 1000, noNaN: true }).map((value) => value.toFixed(6)),
  tuple(
    string({ unit: constantFrom('0', '1', '9', '.', '5'), maxLength: 22 }),
    constantFrom('', '.0', 'e3', '.', 'x'),
  ).map((parts) => parts.join('')),
).filter((word) => word !== '');

test('[D223] the value of a line is what Number makes of its word', () => {
  assert(
    property(words, constantFrom('\n', ' 1790000000000\n', '\r\n', '\t'), (word, after) => {
      expect(read(word, after)).toBe(Number(word));
    }),
    { seed: SEED, numRuns: 2000 },
  );
});

it.each([
  ['0.1', 0.1],
  ['0.30000000000000004', 0.30000000000000004],
  ['999999999999999', 999_999_999_999_999],
  ['9007199254740993', 9_007_199_254_740_992],
  ['.5', 0.5],
  ['5.', 5],
  ['+Inf', Number.POSITIVE_INFINITY],
  ['-Inf', Number.NEGATIVE_INFINITY],
  ['NaN', Number.NaN],
  ['1e3', 1000],
  ['1.2.3', Number.NaN],
  ['12x', Number.NaN],
  ['.', Number.NaN],
])('[D223] reads %s', (word, value) => {
  expect(read(word)).toBe(value);
});
