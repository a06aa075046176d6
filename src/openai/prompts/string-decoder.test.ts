import fc from 'fast-check';
import { expect, it } from 'vitest';
import { StringDecoder } from './string-decoder.ts';

function decoded(pieces: readonly Uint8Array[]): string {
  const written: Buffer[] = [];
  const decoder = new StringDecoder((text) => written.push(Buffer.from(text)));
  pieces.forEach((piece, index) => {
    decoder.push(piece, index === pieces.length - 1);
  });
  return Buffer.concat(written).toString();
}

/** JSON with every character above ASCII escaped, as Python writes it. */
function escaped(text: string): string {
  return JSON.stringify(text)
    .slice(1, -1)
    .replace(/[^\0-~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

it('[D283] decodes strings as they are written by any client, wherever they are cut', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'binary' }),
      fc.boolean(),
      fc.array(fc.nat(80)),
      (text, ascii, cuts) => {
        const wellFormed = text.toWellFormed();
        const raw = Buffer.from(
          ascii ? escaped(wellFormed) : JSON.stringify(wellFormed).slice(1, -1),
        );
        const at = [...cuts, 0, raw.length]
          .filter((cut) => cut <= raw.length)
          .sort((a, b) => a - b);
        const pieces = at.slice(1).map((end, index) => raw.subarray(at[index], end));
        expect(decoded(pieces)).toBe(wellFormed);
      },
    ),
    { numRuns: 200, seed: 283 },
  );
});

it.each([
  ['\\ud83d', '\ufffd'],
  ['\\ud83dx', '\ufffdx'],
  ['\\ud83d\\n', '\ufffd\n'],
  ['\\ud83d\\u0041', '\ufffdA'],
  ['\\ude00', '\ufffd'],
  ['\\/', '/'],
])('[D283] makes a character of what is none: %s', (raw, text) => {
  expect(decoded([Buffer.from(raw)])).toBe(text);
});

it('[D283] decodes strings that are longer than what is decoded at once', () => {
  const text = Array.from({ length: 9000 }, (_, n) => `line ${n}\n"é"😀`).join('');
  const raw = Buffer.from(escaped(text));
  expect(decoded([raw])).toBe(text);
  expect(decoded([raw.subarray(0, 20_001), raw.subarray(20_001)])).toBe(text);
});
