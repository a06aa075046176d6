import type { TraceRequest } from '../traces/trace.ts';

/**
 * Words of three letters. With the space before it, each has four bytes, which the stub counts as
 * one token. The words are so common that each is one token of real models, too (tried with the
 * tokenizers of Llama 2 and 3, GPT-2, GPT-4 and GPT-4o).
 */
const WORDS = (
  'the and for are but not you all any can her was one our out day get has him his how man new now old see ' +
  'two way who boy did its let put say she too use ago air ask bad bag bed big bit box bus buy car cat cup ' +
  'cut dog dry due eat end eye far few fit fly fun got had hit hot ice job key kid law lay led leg lie lot ' +
  'low map may men met mix net nor odd off oil pay per pop pre pro ran raw red rid row run sat sea set sir ' +
  'sit six sky son sub sum sun tax tea ten tie tip top try via war web wet why win yes yet add age'
).split(' ');

/** Each word as the four bytes that are sent. */
const WORD_BYTES = Uint32Array.from(WORDS, (word) =>
  Buffer.from(` ${word}`, 'latin1').readUInt32LE(),
);

interface PromptTextOptions {
  /** Tokens in each block of the request. */
  readonly blockTokens: number;
  /** Changes the whole text, so that it is not in the caches because of earlier runs. */
  readonly salt: string;
  /** Number of the request. The text after its last full block is of this request only. */
  readonly index: number;
  /** Tokens that the target adds to the text, which is shorter by these, but has at least one. */
  readonly templateTokens: number;
}

/**
 * Makes a prompt for a request of which only the sizes and block ids are known: one word a token,
 * and the same text for the same block id. The bytes need no escape in JSON.
 */
export function madeUpPrompt(
  { promptTokens, blockIds }: TraceRequest,
  { blockTokens, salt, index, templateTokens }: PromptTextOptions,
): Buffer {
  const words = new Uint32Array(Math.max(1, promptTokens - templateTokens));
  blockIds.forEach((id, place) => {
    write(words.subarray(place * blockTokens, (place + 1) * blockTokens), `${salt} block ${id}`);
  });
  write(words.subarray(blockIds.length * blockTokens), `${salt} request ${index}`);
  return Buffer.from(words.buffer);
}

/**
 * Writes the same words for the same seed. The generator has 64 bits of state, so that no two of
 * millions of blocks are equal by chance.
 */
function write(words: Uint32Array, seed: string): void {
  let low = 0x811c9dc5;
  let high = 0x2545f491;
  for (let at = 0; at < seed.length; at++) {
    const code = seed.charCodeAt(at);
    low = Math.imul(low ^ code, 0x01000193);
    high = Math.imul(high ^ code, 0x85ebca6b) + low;
    high = (high << 13) | (high >>> 19);
  }
  for (let at = 0; at < words.length; at++) {
    low = (Math.imul(low, 0x915f77f5) + 0x3c6ef372) | 0;
    high ^= high << 13;
    high ^= high >>> 17;
    high ^= high << 5;
    words[at] = WORD_BYTES[((low ^ high) >>> 16) % WORD_BYTES.length] as number;
  }
}
