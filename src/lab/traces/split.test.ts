import { describe, expect, it } from 'vitest';
import type { Random } from '../../framework/runtime.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { firstLineOf } from './reading/first-line.ts';
import { splitLines, type TracePiece } from './reading/split-lines.ts';
import { splitValues } from './reading/split-values.ts';

const SEEDS = Array.from({ length: 100 }, (_, index) => index + 1);

function* chunksOf(text: Buffer, random: Random): Generator<Buffer, void> {
  for (let at = 0; at < text.length; ) {
    const end = at + 1 + Math.floor(9 * random.next());
    yield text.subarray(at, end);
    at = end;
  }
}

/** Never ends: a reader that takes all of it first never gives anything. */
function* endless(text: string): Generator<Buffer, void> {
  while (true) yield Buffer.from(text);
}

function firstThree(pieces: Iterable<TracePiece>): readonly TracePiece[] {
  const found: TracePiece[] = [];
  for (const piece of pieces) {
    found.push(piece);
    if (found.length === 3) break;
  }
  return found;
}

const valueOf = (random: Random, depth = 0): unknown => {
  const kind = Math.floor(7 * random.next());
  const of = (): unknown => valueOf(random, depth + 1);
  if (kind < 2 && depth < 4) return { 'a"}': of(), b: of() };
  if (kind === 2 && depth < 4) return [of(), of()];
  return ['\\"{[é😀', '}]\n', 7, null][Math.floor(4 * random.next())];
};

describe('lines', () => {
  it('are the same however the text is cut into chunks, those that are not UTF-8 reported by their number', () => {
    const text = Buffer.from('é1\n\n😀 two\r\nbad\nlast');
    text[text.indexOf('bad')] = 0xff;
    for (const seed of SEEDS) {
      const pieces = [...splitLines(chunksOf(text, seededRandom(seed)))];
      expect(pieces, `seed ${seed}`).toEqual([
        { line: 1, text: 'é1' },
        { line: 2, text: '' },
        { line: 3, text: '😀 two\r' },
        { line: 4, wrong: 'not UTF-8' },
        { line: 5, text: 'last' },
      ]);
    }
  });

  it('come before the text has ended', () => {
    expect(firstThree(splitLines(endless('ab\nc')))).toEqual([
      { line: 1, text: 'ab' },
      { line: 2, text: 'cab' },
      { line: 3, text: 'cab' },
    ]);
  });
});

it('the first line is looked for in no more than a line can have, and nothing is lost by looking', () => {
  let pulled = 0;
  const zeros = function* (): Generator<Buffer, void> {
    while (true) {
      pulled += 1;
      yield Buffer.alloc(8 * 1024 * 1024);
    }
  };
  const endlessly = { source: 'trace', lenient: false };
  expect(() => firstLineOf(zeros(), endlessly)).toThrow(/^trace:1: \d+ bytes, more than/);
  expect(pulled).toBeLessThan(12);
  const text = '\n\n{"a":1}\n{"b":2}\n';
  for (const seed of SEEDS.slice(0, 20)) {
    const { first, all } = firstLineOf(chunksOf(Buffer.from(text), seededRandom(seed)), endlessly);
    expect(first, `seed ${seed}`).toEqual({ line: 3, text: '{"a":1}' });
    expect(Buffer.concat([...all]).toString()).toBe(text);
  }
});

describe('values', () => {
  it('are what JSON.parse finds in them, in an array or alone, indented or not, however cut into chunks', () => {
    for (const seed of SEEDS) {
      const random = seededRandom(seed);
      const values = Array.from({ length: 3 }, () => ({ v: valueOf(random) }));
      const indent = random.next() < 0.5 ? 2 : undefined;
      const array = JSON.stringify(values, undefined, indent);
      const alone = values.map((value) => JSON.stringify(value, undefined, indent)).join('\n');
      for (const text of [array, alone]) {
        const pieces = [...splitValues(chunksOf(Buffer.from(text), random))];
        const read = pieces.map((piece) => ('text' in piece ? JSON.parse(piece.text) : piece));
        expect(read, `seed ${seed}`).toEqual(values);
        const lines = pieces.map(({ line }) => text.split('\n')[line - 1]?.includes('{'));
        expect(lines, `seed ${seed}`).toEqual([true, true, true]);
      }
    }
  });

  it('come before the text has ended', () => {
    const [first] = firstThree(splitValues(endless('[{"a":\n1},\n')));
    expect(first).toEqual({ line: 1, text: '{"a":\n1}' });
  });

  it('are reported with their line where they are none, or cut off', () => {
    const pieces = [...splitValues([Buffer.from('[{}, nonsense\n, {"a":\n')])];
    expect(pieces).toEqual([
      { line: 1, text: '{}' },
      { line: 1, wrong: 'not JSON: neither an object nor an array of objects' },
      { line: 3, wrong: 'cut off: the JSON does not end' },
    ]);
  });
});
