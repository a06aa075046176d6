import { expect, test } from 'vitest';
import { bytesOf } from './byte-quantity.ts';

test.each([
  ['0', 0],
  ['4096', 4096],
  ['10Mi', 10_485_760],
  ['10MiB', 10_485_760],
  ['25MB', 25_000_000],
  ['1.5k', 1500],
  [' 1Gb ', 1_000_000_000],
  ['', undefined],
  ['MB', undefined],
  ['-1', undefined],
  ['10 MB', undefined],
  ['9007199254740993', undefined],
])('the quantity %j has the bytes `%j`', (text, wanted) => {
  expect(bytesOf(text)).toBe(wanted);
});
