import fc from 'fast-check';
import { expect, it } from 'vitest';
import { byteGrowth, editBody, newReplacement } from './body-edit.ts';

const text = (pieces: readonly Uint8Array[]): string => Buffer.concat(pieces).toString('latin1');

it('edits a body the same however it is cut into chunks, empty ones included', () => {
  const places = fc.array(
    fc.tuple(fc.nat(8), fc.nat(8), fc.string({ maxLength: 10, unit: 'binary-ascii' })),
    { minLength: 1, maxLength: 4 },
  );
  fc.assert(
    fc.property(
      fc.string({ minLength: 1, maxLength: 60, unit: 'binary-ascii' }),
      places,
      fc.array(fc.nat(60), { maxLength: 8 }),
      (body, gaps, cutsAt) => {
        const edit = [];
        let wanted = '';
        let at = 0;
        for (const [gap, length, replacement] of gaps) {
          const start = at + gap;
          const end = Math.min(body.length, start + length);
          if (start >= body.length) break;
          wanted += body.slice(at, start) + replacement;
          edit.push({ start, end, text: Buffer.from(replacement), field: 'f' });
          // Two replacements never touch: fields have a comma between them.
          at = end + 1;
          wanted += body.slice(end, at);
        }
        fc.pre(edit.length > 0);
        wanted += body.slice(at);
        const cuts = [0, ...cutsAt.map((cut) => cut % (body.length + 1)), body.length];
        cuts.sort((a, b) => a - b);
        const chunks = cuts.slice(1).map((cut, index) => Buffer.from(body.slice(cuts[index], cut)));
        expect(text(editBody(edit, chunks))).toBe(wanted);
        expect(wanted.length - body.length).toBe(byteGrowth(edit));
      },
    ),
    { numRuns: 3000, seed: 5 },
  );
});

it('hands back the very chunks where nothing is edited', () => {
  const chunks = [Buffer.from('a')];
  expect(editBody(undefined, chunks)).toBe(chunks);
});

it('names the first replacement that came later', () => {
  const at = (start: number, field: string) => ({
    start,
    end: start + 2,
    text: new Uint8Array(0),
    field,
  });
  expect(newReplacement([at(1, 'a')], [at(1, 'a'), at(9, 'b')])?.field).toBe('b');
  expect(newReplacement([at(9, 'b')], [at(1, 'a'), at(9, 'b')])?.field).toBe('a');
  expect(newReplacement([at(1, 'a')], [at(1, 'a')])).toBeUndefined();
  expect(newReplacement(undefined, undefined)).toBeUndefined();
});
