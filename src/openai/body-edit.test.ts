import fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteGrowth, editBody } from './body-edit.ts';

const text = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString('latin1');

it('edits a body the same however it is cut into chunks, empty ones included', () => {
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 40, unit: 'binary-ascii' }),
      fc.nat(),
      fc.nat(),
      fc.string({ maxLength: 10, unit: 'binary-ascii' }),
      fc.array(fc.nat(40), { maxLength: 8 }),
      (body, from, length, replacement, cutsAt) => {
        const start = from % body.length;
        const end = start + (length % (body.length - start + 1));
        const edit = { start, end, text: Buffer.from(replacement) };
        const cuts = [0, ...cutsAt.map((at) => at % (body.length + 1)), body.length];
        cuts.sort((a, b) => a - b);
        const chunks = cuts.slice(1).map((cut, index) => Buffer.from(body.slice(cuts[index], cut)));
        const wanted = body.slice(0, start) + replacement + body.slice(end);
        const pieces = editBody(edit, chunks);
        expect(text(pieces)).toBe(wanted);
        expect(wanted.length - body.length).toBe(byteGrowth(edit));
      },
    ),
    { numRuns: 2000, seed: 5 },
  );
});

it('hands back the very chunks where nothing is edited', () => {
  const chunks = [Buffer.from('a')];
  expect(editBody(undefined, chunks)).toBe(chunks);
});
