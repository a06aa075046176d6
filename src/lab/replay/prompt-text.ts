import type { TraceRequest } from '../traces/trace.ts';

/**
 * Three letters behind a space: four bytes, which the stub counts as one token, and so common that the tokenizers of
 * real models have each as one, too (tried: those of Llama 2 and 3, GPT-2, GPT-4 and GPT-4o).
 */
const WORDS = (
  'the and for are but not you all any can her was one our out day get has him his how man new now old see ' +
  'two way who boy did its let put say she too use ago air ask bad bag bed big bit box bus buy car cat cup ' +
  'cut dog dry due eat end eye far few fit fly fun got had hit hot ice job key kid law lay led leg lie lot ' +
  'low map may men met mix net nor odd off oil pay per pop pre pro ran raw red rid row run sat sea set sir ' +
  'sit six sky son sub sum sun tax tea ten tie tip top try via war web wet why win yes yet add age'
).split(' ');

/** Each word as the four bytes it is sent as. */
const WORD_BYTES = Uint32Array.from(WORDS, (word) =>
  Buffer.from(` ${word}`, 'latin1').readUInt32LE(),
);

export interface PromptTextOptions {
  /** Of each of the request's block ids. */
  readonly blockTokens: number;
  /** Makes all of the text another, so that what earlier runs left in caches is not found. */
  readonly salt: string;
  /** What is the request's own: the text behind its last full block is of no other request. */
  readonly index: number;
  /** Tokens that the target puts around the text; so many fewer are written, but at least one. */
  readonly templateTokens: number;
}

/**
 * A prompt of a request whose text nobody knows: one word a token, equal block ids as equal text. Of bytes that need no
 * escape in JSON.
 */
export function promptText(
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

/** The same words for the same seed. 64 bits of it count, so that of millions of blocks no two are alike by chance. */
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
