/** A token is four bytes of text: no vocabulary, the same everywhere, and near the mean of real tokenizers. */
export const TOKEN_BYTES = 4;

export interface TokenizedPrompt {
  readonly tokens: number;
  /** One chained key for each full block. */
  readonly blockKeys: readonly number[];
}

export interface TokenizeOptions {
  readonly blockTokens: number;
  /** What makes equal text different: model, adapter, cache salt. */
  readonly root: string;
}

/** Counts tokens and keys the blocks of a rendered prompt. */
export function tokenize(text: Buffer, { blockTokens, root }: TokenizeOptions): TokenizedPrompt {
  const tokens = Math.max(1, Math.ceil(text.length / TOKEN_BYTES));
  const blockBytes = blockTokens * TOKEN_BYTES;
  const blocks = Math.floor(text.length / blockBytes);
  const blockKeys: number[] = [];
  let low = 0x811c9dc5;
  let high = 0x2545f491;
  for (let index = 0; index < root.length; index++) {
    low = Math.imul(low ^ root.charCodeAt(index), 0x01000193);
  }
  for (let block = 0; block < blocks; block++) {
    const end = (block + 1) * blockBytes;
    for (let at = block * blockBytes; at < end; at += 4) {
      const word = text.readInt32LE(at);
      low = Math.imul(low ^ word, 0x85ebca6b);
      low = (low << 13) | (low >>> 19);
      high = (Math.imul(high ^ word, 0xc2b2ae35) + low) | 0;
    }
    low ^= low >>> 16;
    high ^= high >>> 15;
    // 53 bits: what a number keeps exactly.
    blockKeys.push((high >>> 11) * 0x1_0000_0000 + (low >>> 0));
  }
  return { tokens, blockKeys };
}

const WORDS = ['the ', 'and ', 'of a', ' new', ' day', 'ings', ' in ', 'to b', 'e or', ' it '];

/** Text of exactly `count` tokens, the same for the same place in the answer. */
export function tokenText(from: number, count: number): string {
  let text = '';
  for (let index = from; index < from + count; index++) text += WORDS[index % WORDS.length] ?? '';
  return text;
}
