/** A token is four bytes of text, near the mean of real tokenizers; there is no vocabulary. */
export const TOKEN_BYTES = 4;

const NO_TOKENS = new Int32Array(0);

/** Text as little-endian 32-bit token ids, at least one. The last of each piece is zero-padded. */
export function tokenIdsOf(text: Buffer): Int32Array {
  return tokenIdsOfAll([text]);
}

/** The tokens of a piece, of which the last may be padded. */
export function tokensIn({ length }: Buffer): number {
  return Math.ceil(length / TOKEN_BYTES);
}

/** The token ids of pieces that each begin with a new token; there may be millions. */
export function tokenIdsOfAll(pieces: readonly Buffer[]): Int32Array {
  const tokens = pieces.reduce((sum, piece) => sum + tokensIn(piece), 0);
  const ids = new Int32Array(Math.max(1, tokens));
  // Memory is little-endian on all platforms of Node.
  const bytes = new Uint8Array(ids.buffer);
  let at = 0;
  for (const piece of pieces) {
    bytes.set(piece, TOKEN_BYTES * at);
    at += tokensIn(piece);
  }
  return ids;
}

/** Token ids as clients and KV events see them: none is negative. */
export function shownIds(ids: Int32Array): number[] {
  return Array.from(ids, (id) => id >>> 0);
}

/** The text of token ids, without padding. */
export function textOf(ids: ArrayLike<number>): string {
  const bytes = Buffer.alloc(TOKEN_BYTES * ids.length);
  for (let index = 0; index < ids.length; index++) {
    bytes.writeInt32LE((ids[index] as number) | 0, TOKEN_BYTES * index);
  }
  return bytes.toString('utf8').replaceAll('\0', '');
}

/** A chained 53-bit hash per full block; `root` (adapter, cache salt) distinguishes equal text. */
export function chainedHashes(
  prompt: Int32Array,
  options: { readonly blockTokens: number; readonly root: string; readonly answer?: Int32Array },
): Float64Array {
  const { blockTokens, root, answer = NO_TOKENS } = options;
  const blocks = Math.floor((prompt.length + answer.length) / blockTokens);
  const hashes = new Float64Array(blocks);
  let low = 0x811c9dc5;
  let high = 0x2545f491;
  for (let index = 0; index < root.length; index++) {
    low = Math.imul(low ^ root.charCodeAt(index), 0x01000193);
  }
  for (let block = 0; block < blocks; block++) {
    const end = (block + 1) * blockTokens;
    for (let at = block * blockTokens; at < end; at++) {
      const word = (at < prompt.length ? prompt[at] : answer[at - prompt.length]) as number;
      low = Math.imul(low ^ word, 0x85ebca6b);
      low = (low << 13) | (low >>> 19);
      high = (Math.imul(high ^ word, 0xc2b2ae35) + low) | 0;
    }
    low ^= low >>> 16;
    high ^= high >>> 15;
    hashes[block] = (high >>> 11) * 0x1_0000_0000 + (low >>> 0);
  }
  return hashes;
}

/** Four bytes each, without characters that JSON escapes. */
const WORDS: readonly string[] = (
  'the |and |of a| new| day|ings| in |to b|e or| it |with|out |some|one |may |be t|here|and |when|ever|' +
  'they|run.| So |we l|earn| how| far| it |goes|, an|d wh|at i|t is| for'
).split('|');

/** The text of one generated token; equal for equal seed and index. */
export function wordAt(seed: number, index: number): string {
  let mixed = Math.imul(seed ^ Math.imul(index + 1, 0x9e3779b9), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0xc2b2ae35);
  return WORDS[((mixed ^ (mixed >>> 13)) >>> 0) % WORDS.length] as string;
}
