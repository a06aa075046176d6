/** A secret of the process: four random words, or one number where a run must repeat. */
export type HashSecret = number | Uint32Array;

/** Characters that a text from outside may have and still be stored as it is. */
const KEPT_CHARS_MAX = 256;
/** Characters of a longer text that are kept, so that a person recognizes it. */
const HEAD_CHARS = 64;
/** Words of text hashed at a time. */
const TEXT_WORDS = 256;
/** Sets texts apart from other inputs. */
const TEXT_TAG = 0x74657874;

// Filled and read in one synchronous call.
const textWords = new Int32Array(TEXT_WORDS);

/**
 * HalfSipHash-1-3 with 64 bits of result, and a key of 128 bits in place of 64: one round of
 * additions, rotations and xors for each word of input, on a state that is secret from the first
 * word on. Without the key, no pair of inputs is known to collide more often than by chance. A
 * result is valid until the next call; calls are synchronous, so one object serves a process.
 */
export class KeyedHash {
  /** The result's words, as signed integers. */
  low = 0;
  high = 0;
  /** Four words. They stay the same. */
  readonly key: Int32Array;

  constructor(secret: HashSecret) {
    this.key = keyOf(secret);
  }

  /**
   * Hashes the first `count` words. One of the words should say what is hashed and how long it is.
   */
  words(words: Int32Array, count: number): void {
    const key = this.key;
    let v0 = key[0] as number;
    let v1 = (key[1] as number) ^ 0xee;
    let v2 = (key[2] as number) ^ 0x6c796765;
    let v3 = (key[3] as number) ^ 0x74656462;
    for (let index = 0; index < count; index++) {
      const word = words[index] as number;
      v3 ^= word;
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
      v0 ^= word;
    }
    v2 ^= 0xee;
    for (let round = 0; round < 6; round++) {
      if (round === 3) {
        this.low = v1 ^ v3;
        v1 ^= 0xdd;
      }
      v0 = (v0 + v1) | 0;
      v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0;
      v0 = (v0 << 16) | (v0 >>> 16);
      v2 = (v2 + v3) | 0;
      v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2;
      v0 = (v0 + v3) | 0;
      v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0;
      v2 = (v2 + v1) | 0;
      v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2;
      v2 = (v2 << 16) | (v2 >>> 16);
    }
    this.high = v1 ^ v3;
  }

  /** Hashes a text of any length. */
  text(text: string): void {
    // The first two words of each part are the result of the part before, at first the length.
    textWords[0] = text.length;
    textWords[1] = TEXT_TAG;
    let at = 0;
    do {
      let count = 2;
      for (; count < TEXT_WORDS && at < text.length; count++, at += 2) {
        // Behind the end there is NaN, which counts as 0; the length distinguishes the two.
        textWords[count] = text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16);
      }
      this.words(textWords, count);
      textWords[0] = this.low;
      textWords[1] = this.high;
    } while (at < text.length);
  }

  /**
   * A text from outside, as it may be stored: itself, or of a long one the beginning and the hash.
   * Two different texts have different results, unless a long one has to be guessed.
   */
  bounded(text: string): string {
    if (text.length <= KEPT_CHARS_MAX) return text;
    this.text(text);
    const hash = `${hex(this.high)}${hex(this.low)}`;
    return `${keptBeginning(text, HEAD_CHARS)}…${hash}`;
  }
}

function keyOf(secret: HashSecret): Int32Array {
  if (typeof secret !== 'number') return Int32Array.from({ length: 4 }, (_, at) => secret[at] ?? 0);
  return Int32Array.of(secret, secret ^ 0x9e3779b9, secret ^ 0x243f6a88, secret ^ 0xb7e15162);
}

/**
 * At most the first `charsMax` UTF-16 units of a text, to be stored: a copy where they are cut off,
 * because V8 makes a part of a text that keeps the whole text in memory.
 */
export function keptBeginning(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  return String.fromCharCode(...Array.from({ length: charsMax }, (_, at) => text.charCodeAt(at)));
}

function hex(word: number): string {
  return (word >>> 0).toString(16).padStart(8, '0');
}
