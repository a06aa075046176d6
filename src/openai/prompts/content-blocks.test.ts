import fc from 'fast-check';
import { expect, it } from 'vitest';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { input } from '../kernel/byte-kernel.ts';
import { ContentBlocks } from './content-blocks.ts';

const BLOCK_BYTES = 256;
const hash = new KeyedHash(7);

/** The words of a run's hashes, computed block by block. `texts` are parted by flushes. */
function plainWords(texts: readonly Buffer[], tag: number): readonly number[] {
  const words: number[] = [];
  for (const [index, text] of texts.entries()) {
    const isLast = index === texts.length - 1;
    const end = isLast ? text.length - (text.length % BLOCK_BYTES) : text.length;
    for (let at = 0; at < end; at += BLOCK_BYTES) {
      const block = Buffer.alloc(BLOCK_BYTES + 4);
      const bytes = text.copy(block, 0, at, Math.min(at + BLOCK_BYTES, end));
      block.writeInt32LE(BLOCK_BYTES * tag + bytes, BLOCK_BYTES);
      const values = Int32Array.from({ length: 65 }, (_, word) => block.readInt32LE(4 * word));
      hash.words(values, values.length);
      words.push(hash.low >>> 0, hash.high >>> 0);
    }
  }
  return words;
}

/** A run, and beside it what was pushed into it. */
class Checked {
  readonly run: ContentBlocks;
  readonly #tag: number;
  readonly #texts: Buffer[][] = [[]];

  constructor(tag: number) {
    this.#tag = tag;
    this.run = new ContentBlocks(hash, tag);
  }

  push(how: string, bytes: number): void {
    const text = Buffer.alloc(bytes, `${how}${bytes}${this.#texts.length}`);
    this.#texts.at(-1)?.push(text);
    if (how === 'input') {
      input.set(text, 5);
      this.run.pushInput(5, 5 + bytes);
    } else if (how === 'bytes') for (const byte of text) this.run.pushByte(byte);
    else this.run.push(text);
  }

  pushIds(count: number): void {
    const text = Buffer.alloc(4 * count);
    for (let index = 0; index < count; index++) {
      this.run.pushId(index * 70_001);
      text.writeUInt32LE(index * 70_001, 4 * index);
    }
    this.#texts.at(-1)?.push(text);
  }

  flush(): void {
    this.run.flush();
    this.#texts.push([]);
  }

  check(): void {
    const wanted = plainWords(
      this.#texts.map((pieces) => Buffer.concat(pieces)),
      this.#tag,
    );
    const words = Array.from({ length: 2 * this.run.count }, (_, at) => this.run.word(at));
    expect(words).toEqual(wanted);
    expect(this.run.bytes).toBe(this.#texts.flat().reduce((sum, { length }) => sum + length, 0));
  }
}

it('[G153] hashes each run as if it were alone, however pieces of several runs come in turn', () => {
  const bytes = fc.oneof(fc.nat(40), fc.integer({ min: 250, max: 600 }), fc.nat(16_384));
  const step = fc.record({
    run: fc.nat(2),
    how: fc.constantFrom('text', 'input', 'input', 'bytes', 'ids', 'flush', 'count'),
    bytes,
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
      const runs = [0, 1, 2].map((tag) => new Checked(tag));
      for (const { run, how, bytes } of steps) {
        const checked = runs[run];
        if (how === 'flush') checked?.flush();
        else if (how === 'ids') checked?.pushIds(bytes % 200);
        else if (how === 'count') checked?.check();
        else checked?.push(how, bytes);
      }
      for (const each of runs) each.check();
    }),
    { numRuns: 300, seed: 27 },
  );
});
