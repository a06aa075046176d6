import { expect, it } from 'vitest';
import { sameParameters } from './same-parameters.ts';

it.each([
  [{ a: 1, b: [1, { c: 'x' }] }, { b: [1, { c: 'x' }], a: 1 }, true],
  [undefined, undefined, true],
  [{ a: Number.NaN }, { a: Number.NaN }, true],
  [{ a: 1 }, { a: 2 }, false],
  [{ a: undefined }, { b: undefined }, false],
  [{ a: 1 }, { a: 1, b: 1 }, false],
  [[1, 2], [1], false],
  [[], {}, false],
  [null, {}, false],
  // Values that a schema made of text cannot be compared by content.
  [/a/, /b/, false],
  [new Map([['a', 1]]), new Map([['a', 2]]), false],
])('`%o` and `%o`: %s', (a, b, same) => {
  expect(sameParameters(a, b)).toBe(same);
  expect(sameParameters(b, a)).toBe(same);
});
