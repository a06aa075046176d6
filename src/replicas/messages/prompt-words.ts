import { type PromptBlocks, TEXTS_MAX } from '../../framework/request.ts';
import { type ByteReader, type ByteWriter, type HashesAt, NO_HASHES } from './wire.ts';

/** Blocks of one prompt: four million tokens. What comes after is not sent. */
export const BLOCKS_MAX = 65_536;
const NO_WORDS = new Uint32Array(0);

/** The words of a text. */
interface TextWords {
  readonly blocks: Uint32Array;
  /** What is behind the last full block; empty where that is nothing. */
  readonly rest: Uint32Array;
}

/** What of a prompt follows the full blocks of its first text, at the end of an entry. */
export interface PromptTail extends Pick<TextWords, 'rest'> {
  /** The texts behind the first. */
  readonly others: readonly TextWords[];
}

/**
 * Whether a prompt of which `sent` blocks are sent has anything behind its last full block to send.
 */
export function sendsTail({ count, hasRest, others }: PromptBlocks, sent: number): boolean {
  return sent === count && (hasRest === true || others !== undefined);
}

/** Writes the words of what stands behind the last full block, and the other texts. */
export function writeTail(writer: ByteWriter, prompt: PromptBlocks): void {
  writeRest(writer, prompt);
  let blocks = prompt.count;
  for (const text of prompt.others ?? []) {
    blocks += text.count;
    if (blocks > BLOCKS_MAX) return;
    writer.hashes(text.words, 0, text.count);
    writeRest(writer, text);
  }
}

function writeRest(writer: ByteWriter, { words, count, hasRest }: PromptBlocks): void {
  writer.hashes(words, count, hasRest === true ? count + 1 : count);
}

/** What `writeTail` wrote. Earlier versions write nothing there, or one rest. */
export function readTail(reader: ByteReader): PromptTail {
  const rest = reader.left > 0 ? reader.hashes(1) : NO_WORDS;
  return { rest, others: readOthers(reader) };
}

/**
 * The prompt of blocks that were passed over, and of what `writeTail` wrote behind them. Words are
 * copied once: each request has a prompt.
 */
export function readPromptBehind(
  reader: ByteReader,
  blockTokens: number,
  blocks: HashesAt,
): PromptBlocks {
  const { count } = blocks;
  const rest = reader.left > 0 ? reader.skipHashes(1) : NO_HASHES;
  const words = reader.wordsOf(blocks, rest);
  const hasRest = rest.count > 0;
  const first = hasRest ? { count, blockTokens, words, hasRest } : { count, blockTokens, words };
  return reader.left > 0 ? withOthers(first, readOthers(reader)) : first;
}

function readOthers(reader: ByteReader): readonly TextWords[] {
  const others: TextWords[] = [];
  while (reader.left > 0 && others.length < TEXTS_MAX) {
    others.push({ blocks: reader.hashes(BLOCKS_MAX), rest: reader.hashes(1) });
  }
  return others;
}

/** The prompt of these blocks and what follows them. */
export function promptOf(
  blockTokens: number,
  blocks: Uint32Array,
  { rest, others }: PromptTail,
): PromptBlocks {
  const first = textOf(blockTokens, { blocks, rest });
  return others.length === 0 ? first : withOthers(first, others);
}

function withOthers(first: PromptBlocks, others: readonly TextWords[]): PromptBlocks {
  return { ...first, others: others.map((text) => textOf(first.blockTokens, text)) };
}

function textOf(blockTokens: number, { blocks, rest }: TextWords): PromptBlocks {
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
