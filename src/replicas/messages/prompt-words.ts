import type { PromptBlocks } from '../../framework/request.ts';
import type { ByteReader, ByteWriter } from './wire.ts';

/** Blocks of one prompt: four million tokens. What comes after is not sent. */
export const BLOCKS_MAX = 65_536;
const NO_WORDS = new Uint32Array(0);

/**
 * Whether a prompt of which `sent` blocks are sent has a rest behind its last full block to send.
 */
export function sendsRest({ count, hasRest }: PromptBlocks, sent: number): boolean {
  return hasRest === true && sent === count;
}

/** Writes the words of what stands behind the last full block. */
export function writeRest(writer: ByteWriter, { words, count }: PromptBlocks): void {
  writer.hashes(words, count, count + 1);
}

/** The words of the rest, at the end of an entry; none where it has none. */
export function readRest(reader: ByteReader): Uint32Array {
  return reader.left > 0 ? reader.hashes(1) : NO_WORDS;
}

/** The prompt of these blocks and this rest. */
export function promptOf(
  blockTokens: number,
  blocks: Uint32Array,
  rest: Uint32Array,
): PromptBlocks {
  const count = blocks.length / 2;
  if (rest.length === 0) return { count, blockTokens, words: blocks };
  const words = new Uint32Array(blocks.length + rest.length);
  words.set(blocks);
  words.set(rest, blocks.length);
  return { count, blockTokens, words, hasRest: true };
}

/** Whether the blocks of `prompt` begin with those of `known`. Hashes are chained: one decides. */
export function continues(prompt: PromptBlocks, known: PromptBlocks): boolean {
  const { count } = known;
  if (count === 0 || count > Math.min(prompt.count, BLOCKS_MAX)) return false;
  const at = 2 * count - 2;
  return prompt.words[at] === known.words[at] && prompt.words[at + 1] === known.words[at + 1];
}
