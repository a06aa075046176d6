import { StacklessError } from '../../framework/error.ts';

/** What is read is not what a replica of this version writes. */
export class WireError extends StacklessError {
  override readonly name = 'WireError';
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** UTF-16 units become at most three bytes each. */
const BYTES_PER_UNIT = 3;
/**
 * Names of endpoints and models. For these the encoder costs more than a loop: each message has
 * some.
 */
const ASCII_UNITS_MAX = 128;
const INITIAL_BYTES = 4096;
/** The length of an entry is written after it, in a place of this size: up to 2 MB. */
const LENGTH_BYTES = 3;
/** What fits into 32 bits with a sign. */
const SHORT_MAX: number = 2 ** 31 - 1;
/** V8 keeps typed arrays so short within its heap, until somebody asks for their buffer. */
const IN_HEAP_BYTES = 64;

/**
 * Writes numbers, texts and block hashes into one growing array. Numbers are whole, not negative,
 * and take seven bits a byte. Hashes are written as they are in memory: replicas run on processors
 * of one byte order, which all of today's are.
 */
export class ByteWriter {
  #bytes = new Uint8Array(INITIAL_BYTES);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  byte(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#length++] = value;
  }

  number(value: number): void {
    this.#reserve(8);
    let rest = value > 0 ? Math.min(Math.round(value), Number.MAX_SAFE_INTEGER) : 0;
    while (rest > SHORT_MAX) {
      this.#bytes[this.#length++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    // Nearly all numbers: in 32 bits no division is needed.
    let short = rest | 0;
    while (short >= 0x80) {
      this.#bytes[this.#length++] = (short & 0x7f) | 0x80;
      short >>>= 7;
    }
    this.#bytes[this.#length++] = short;
  }

  /** A whole number of either sign: those below zero are odd. */
  signed(value: number): void {
    this.number(value < 0 ? -2 * value - 1 : 2 * value);
  }

  text(value: string): void {
    if (this.#ascii(value)) return;
    const bytes = encoder.encode(value);
    this.number(bytes.length);
    this.bytes(bytes);
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#length);
    this.#length += value.length;
  }

  /** 64-bit hashes, two words each, from the one with index `from` up to `to`. */
  hashes(words: Uint32Array, from: number, to: number): void {
    this.number(to - from);
    if (8 * (to - from) > IN_HEAP_BYTES) {
      this.bytes(new Uint8Array(words.buffer, words.byteOffset + 8 * from, 8 * (to - from)));
      return;
    }
    this.#reserve(8 * (to - from));
    for (let at = 2 * from; at < 2 * to; at++) this.#word(words[at] as number);
  }

  /** Four bytes, of which the first is the lowest, as in the memory of all processors of today. */
  #word(value: number): void {
    this.#bytes[this.#length++] = value & 0xff;
    this.#bytes[this.#length++] = (value >>> 8) & 0xff;
    this.#bytes[this.#length++] = (value >>> 16) & 0xff;
    this.#bytes[this.#length++] = value >>> 24;
  }

  /** Begins an entry that readers can skip; to be ended with `endEntry` of what it returns. */
  beginEntry(kind: number): number {
    this.byte(kind);
    this.#reserve(LENGTH_BYTES);
    this.#length += LENGTH_BYTES;
    return this.#length;
  }

  endEntry(start: number): void {
    const length = this.#length - start;
    this.#bytes[start - 3] = (length & 0x7f) | 0x80;
    this.#bytes[start - 2] = ((length >>> 7) & 0x7f) | 0x80;
    this.#bytes[start - 1] = (length >>> 14) & 0x7f;
  }

  clear(): void {
    this.#length = 0;
  }

  /** Valid until the next call. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length);
  }

  /** False, and nothing is written, for a text that is long or has other letters. */
  #ascii(value: string): boolean {
    const { length } = value;
    if (length > ASCII_UNITS_MAX) return false;
    const start = this.#length;
    this.number(length);
    this.#reserve(length);
    for (let at = 0; at < length; at++) {
      const unit = value.charCodeAt(at);
      if (unit >= 0x80) {
        this.#length = start;
        return false;
      }
      this.#bytes[this.#length++] = unit;
    }
    return true;
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(needed, 2 * this.#bytes.length));
    grown.set(this.view());
    this.#bytes = grown;
  }
}

/** Hashes that were passed over: the index of their first byte, and how many they are. */
export interface HashesAt {
  readonly at: number;
  readonly count: number;
}

export const NO_HASHES: HashesAt = { at: 0, count: 0 };

/** Reads what ByteWriter writes. Throws WireError for what is cut off or exceeds a bound. */
export class ByteReader {
  readonly #bytes: Uint8Array;
  #at = 0;
  #end: number;
  /** The end of what the entry that is read is in. */
  #after: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#end = bytes.length;
    this.#after = bytes.length;
  }

  get left(): number {
    return this.#end - this.#at;
  }

  byte(): number {
    if (this.#at >= this.#end) throw new WireError('a message is cut off');
    return this.#bytes[this.#at++] as number;
  }

  number(max: number = Number.MAX_SAFE_INTEGER): number {
    let value = 0;
    let factor = 1;
    for (let count = 0; count < 8; count++) {
      const byte = this.byte();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) {
        if (value > max) throw new WireError(`a number is ${value} and may be ${max}`);
        return value;
      }
      factor *= 0x80;
    }
    throw new WireError('a number has more than 56 bits');
  }

  signed(): number {
    const value = this.number();
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  text(unitsMax: number): string {
    return decoder.decode(this.bytes(this.number(BYTES_PER_UNIT * unitsMax)));
  }

  bytes(length: number): Uint8Array {
    if (length > this.left) throw new WireError('a message is cut off');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  hashes(countMax: number): Uint32Array {
    return this.wordsOf(this.skipHashes(countMax));
  }

  /** Goes on after hashes, of which `wordsOf` makes words later. */
  skipHashes(countMax: number): HashesAt {
    const count = this.number(countMax);
    if (8 * count > this.left) throw new WireError('a message is cut off');
    const at = this.#at;
    this.#at += 8 * count;
    return { at, count };
  }

  /** The words of hashes, and of those behind them, in one array: two words for each hash. */
  wordsOf(first: HashesAt, then: HashesAt = NO_HASHES): Uint32Array {
    const words = new Uint32Array(2 * (first.count + then.count));
    this.#copy(first, words, 0);
    this.#copy(then, words, 2 * first.count);
    return words;
  }

  #copy({ at, count }: HashesAt, words: Uint32Array, to: number): void {
    if (words.byteLength > IN_HEAP_BYTES) {
      new Uint8Array(words.buffer).set(this.#bytes.subarray(at, at + 8 * count), 4 * to);
      return;
    }
    for (let word = 0; word < 2 * count; word++) {
      words[to + word] = wordAt(this.#bytes, at + 4 * word);
    }
  }

  /** Limits reading to the next entry, and returns its kind; to be ended with `endEntry`. */
  beginEntry(): number {
    const kind = this.byte();
    const length = this.number(this.left);
    if (length > this.left) throw new WireError('a message is cut off');
    this.#after = this.#end;
    this.#end = this.#at + length;
    return kind;
  }

  /** Goes on after the entry, whatever of it was read. */
  endEntry(): void {
    this.#at = this.#end;
    this.#end = this.#after;
  }
}

/** Reads what `#word` wrote. */
function wordAt(bytes: Uint8Array, at: number): number {
  const low = (bytes[at] as number) | ((bytes[at + 1] as number) << 8);
  return low | ((bytes[at + 2] as number) << 16) | ((bytes[at + 3] as number) << 24);
}
