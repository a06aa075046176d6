import { KeyedHash } from '../../../src/framework/values/keyed-hash.ts';
import { INPUT_BYTES, input as memory, stringEnd } from '../../../src/openai/kernel/byte-kernel.ts';
import { ContentBlocks } from '../../../src/openai/prompts/content-blocks.ts';
import { plainStringEnd } from '../../support/plain-text.ts';
import { type FuzzTarget, promise, utf8 } from '../target.ts';

const BLOCK_BYTES = 256;
const BLOCK_WORDS = BLOCK_BYTES / 4;
const TAG = 3;

/** The words of the hashes of all blocks, the last one padded, one block at a time. */
function plainHashes(text: Uint8Array, secret: number): readonly number[] {
  const hash = new KeyedHash(secret);
  const words: number[] = [];
  for (let at = 0; at < text.length; at += BLOCK_BYTES) {
    const block = text.subarray(at, at + BLOCK_BYTES);
    const padded = new Int32Array(BLOCK_WORDS + 1);
    new Uint8Array(padded.buffer).set(block);
    padded[BLOCK_WORDS] = BLOCK_BYTES * TAG + block.length;
    hash.words(padded, padded.length);
    words.push(hash.low >>> 0, hash.high >>> 0);
  }
  return words;
}

/** The same by the kernel, from pieces that come in the three ways that readers have. */
function kernelHashes(text: Uint8Array, step: number, secret: number): readonly number[] {
  const blocks = new ContentBlocks(new KeyedHash(secret), TAG);
  const other = new ContentBlocks(new KeyedHash(secret + 1), TAG);
  for (let at = 0, turn = step; at < text.length; turn++) {
    const piece = text.subarray(at, at + (turn % 7 === 0 ? 1 : step));
    if (turn % 3 === 0) {
      memory.set(piece);
      blocks.pushInput(0, piece.length);
    } else if (piece.length === 1) blocks.pushByte(piece[0] ?? 0);
    else blocks.push(piece);
    // Runs share the kernel's memory.
    if (turn % 5 === 0) other.push(piece);
    at += piece.length;
  }
  blocks.flush();
  return Array.from({ length: 2 * blocks.count }, (_, at) => blocks.word(at));
}

/**
 * The first byte says how the text is cut. The compiled code finds the same ends of strings as a
 * reader of one byte at a time, and gives blocks the same hashes.
 */
export const kernel: FuzzTarget = {
  name: 'kernel',
  inputBytesMax: 1500,
  seeds: [
    'a plain text"and more',
    'one\\n two\\u00e9 three\\\\ four\\" five"',
    'not whole \\u12',
    `${'long text '.repeat(60)}\\ud83d\\ude00"`,
    'control \u0001 \u001f \u007f',
    'é ü 漢字 \u{1f600}',
  ].map((text, at) => Buffer.concat([Buffer.of(31 * at), utf8(text)])),
  words: ['\\u', '\\', '"', '\\ud83d', '\\"', '\n', '\x00', 'abcdefghijklmnopqrstuvwxyz'],
  run: (input) => {
    const way = input[0] ?? 0;
    const bytes = input.subarray(1, 1 + INPUT_BYTES);
    const text = Buffer.from(bytes).toString('latin1');
    memory.set(bytes);
    const ends: number[] = [];
    for (let from = 0; from < bytes.length; from += 1 + (way % 97)) {
      const end = stringEnd(from, bytes.length);
      const plain = plainStringEnd(text, from);
      promise(end === plain, () => `from ${from} the text ends at ${end}, not ${plain}`);
      ends.push(end - from);
    }
    const hashes = kernelHashes(bytes, 1 + ((3 * way) % 600), way);
    const plain = plainHashes(bytes, way);
    promise(String(hashes) === String(plain), () => `hashes of ${bytes.length} bytes differ`);
    const [first = 0] = ends;
    return `${Math.min(40, first)} ${text[first] ?? 'end'} ${Math.min(8, plain.length / 2)}`;
  },
};
