/**
 * The loops over every byte of a prompt, in AssemblyScript with SIMD: where a JSON string ends, its
 * text without escapes, and the hashes of full blocks. `npm run kernel` compiles it into byte-kernel-code.ts. Addresses
 * are bytes of its memory; byte-kernel.ts says what lies where.
 */

const QUOTE: u8 = 0x22;
const BACKSLASH: u8 = 0x5c;
const BLOCK_BYTES: usize = 256;
/** Blocks that are hashed at once, one in each lane of a vector. */
const LANES: usize = 4;
const VECTOR_BYTES: usize = 16;

/** The hash's key, four words. */
const KEY_AT: usize = 0;
/** Where the text that was decoded last ends. */
const DECODED_END_AT: usize = 32;
/** The words of four blocks, word by word: 64 of text, one for the kind, six that end the hash. */
const WORDS_AT: usize = 64;
const KIND_AT: usize = WORDS_AT + 64 * VECTOR_BYTES;
const END_AT: usize = KIND_AT + VECTOR_BYTES;

/**
 * Where the text of a JSON string between `from` and `end` stops: at its quote, at the first byte
 * that is not valid, at an escape that is not whole, or at `end`.
 */
export function textEnd(from: usize, end: usize): usize {
  const quotes = i8x16.splat(QUOTE);
  const backslashes = i8x16.splat(BACKSLASH);
  const controls = i8x16.splat(0x20);
  let at = from;
  while (at < end) {
    if (at + VECTOR_BYTES <= end) {
      const bytes = v128.load(at);
      const marks = v128.or(i8x16.eq(bytes, quotes), i8x16.eq(bytes, backslashes));
      const found = i8x16.bitmask(v128.or(marks, i8x16.lt_u(bytes, controls)));
      if (found == 0) {
        at += VECTOR_BYTES;
        continue;
      }
      at += ctz(found);
    }
    const byte = load<u8>(at);
    if (byte == QUOTE || byte < 0x20) return at;
    if (byte == BACKSLASH) {
      const behind = escapeEnd(at, end);
      if (behind == at) return at;
      at = behind;
    } else at += 1;
  }
  return end;
}

/** Behind the escape at `at`, or `at` where it is not valid or not whole. */
function escapeEnd(at: usize, end: usize): usize {
  if (at + 2 > end) return at;
  switch (load<u8>(at + 1)) {
    case QUOTE:
    case BACKSLASH:
    case 0x2f: // slash
    case 0x62: // b
    case 0x66: // f
    case 0x6e: // n
    case 0x72: // r
    case 0x74: // t
      return at + 2;
    case 0x75: // u
      if (at + 6 > end) return at;
      for (let digit = at + 2; digit < at + 6; digit++) {
        if (!isHexDigit(load<u8>(digit))) return at;
      }
      return at + 6;
    default:
      return at;
  }
}

function isHexDigit(byte: u8): bool {
  const lower: u8 = byte | 0x20;
  return (byte >= 0x30 && byte <= 0x39) || (lower >= 0x61 && lower <= 0x66);
}

/**
 * Writes the text of a valid JSON string to `to`, with its escapes decoded to UTF-8; it is no longer.
 * Stops at an escape that is not whole, and returns where. `last`: no more of the string will come.
 * Writes up to 16 bytes behind the text, too.
 */
export function decodeText(from: usize, end: usize, to: usize, last: bool): usize {
  const backslashes = i8x16.splat(BACKSLASH);
  let at = from;
  while (at < end) {
    if (at + VECTOR_BYTES <= end) {
      const bytes = v128.load(at);
      v128.store(to, bytes);
      const found = i8x16.bitmask(i8x16.eq(bytes, backslashes));
      const plain: usize = found == 0 ? VECTOR_BYTES : ctz(found);
      at += plain;
      to += plain;
      if (found == 0) continue;
    } else if (load<u8>(at) != BACKSLASH) {
      store<u8>(to++, load<u8>(at++));
      continue;
    }
    if (at + 2 > end) break;
    const escaped = load<u8>(at + 1);
    if (escaped != 0x75) {
      store<u8>(to++, characterOf(escaped));
      at += 2;
      continue;
    }
    const length = unicodeEscape(at, end, last);
    if (length == 0) break;
    to = storeUtf8(to, pointAt(at, length));
    at += length;
  }
  store<u32>(DECODED_END_AT, <u32>to);
  return at;
}

/** The character that an escape of two bytes stands for, by its second. */
function characterOf(escaped: u8): u8 {
  switch (escaped) {
    case 0x62: // b
      return 0x08;
    case 0x66: // f
      return 0x0c;
    case 0x6e: // n
      return 0x0a;
    case 0x72: // r
      return 0x0d;
    case 0x74: // t
      return 0x09;
    default:
      return escaped;
  }
}

/** The bytes of the escape of a character: 6, or 12 of a pair; 0 where more of it may come. */
function unicodeEscape(at: usize, end: usize, last: bool): usize {
  if (at + 6 > end) return 0;
  if ((codeAt(at) & 0xfc00) != 0xd800) return 6;
  if (at + 12 > end) {
    // What follows may be its other half, as far as it has come.
    const isOpen = at + 6 == end || (load<u8>(at + 6) == BACKSLASH && (at + 7 == end || load<u8>(at + 7) == 0x75));
    return isOpen && !last ? 0 : 6;
  }
  const isPair = load<u8>(at + 6) == BACKSLASH && load<u8>(at + 7) == 0x75;
  return isPair && (codeAt(at + 6) & 0xfc00) == 0xdc00 ? 12 : 6;
}

/** The code point of an escape. Half of a pair becomes the replacement character, as in Go. */
function pointAt(at: usize, length: usize): u32 {
  const code = codeAt(at);
  if (length == 12) return 0x10000 + ((code & 0x3ff) << 10) + (codeAt(at + 6) & 0x3ff);
  return (code & 0xf800) == 0xd800 ? 0xfffd : code;
}

/** The code unit of the escape `\uXXXX` at `at`. */
function codeAt(at: usize): u32 {
  let code: u32 = 0;
  for (let digit = at + 2; digit < at + 6; digit++) {
    const byte: u32 = load<u8>(digit);
    code = (code << 4) | (byte < 0x3a ? byte - 0x30 : (byte | 0x20) - 0x57);
  }
  return code;
}

function storeUtf8(to: usize, point: u32): usize {
  if (point < 0x80) {
    store<u8>(to, point);
    return to + 1;
  }
  if (point < 0x800) {
    store<u8>(to, 0xc0 | (point >> 6));
    store<u8>(to, 0x80 | (point & 0x3f), 1);
    return to + 2;
  }
  if (point < 0x10000) {
    store<u8>(to, 0xe0 | (point >> 12));
    store<u8>(to, 0x80 | ((point >> 6) & 0x3f), 1);
    store<u8>(to, 0x80 | (point & 0x3f), 2);
    return to + 3;
  }
  store<u8>(to, 0xf0 | (point >> 18));
  store<u8>(to, 0x80 | ((point >> 12) & 0x3f), 1);
  store<u8>(to, 0x80 | ((point >> 6) & 0x3f), 2);
  store<u8>(to, 0x80 | (point & 0x3f), 3);
  return to + 4;
}

/**
 * Hashes `count` blocks at `from` as KeyedHash does, each with `kind` as its last word, and writes
 * two words for each to `to`. It reads and writes whole groups of four: what is behind the last
 * block has no meaning.
 */
export function hashBlocks(from: usize, count: usize, kind: i32, to: usize): void {
  v128.store(KIND_AT, i32x4.splat(kind));
  const end = from + count * BLOCK_BYTES;
  for (let group = from; group < end; group += LANES * BLOCK_BYTES) {
    transpose(group);
    hashWords(to);
    to += LANES * 8;
  }
}

/** Writes word i of four blocks beside each other, for each i. */
function transpose(group: usize): void {
  let to = WORDS_AT;
  for (let at = group; at < group + BLOCK_BYTES; at += VECTOR_BYTES) {
    const block0 = v128.load(at);
    const block1 = v128.load(at, BLOCK_BYTES);
    const block2 = v128.load(at, 2 * BLOCK_BYTES);
    const block3 = v128.load(at, 3 * BLOCK_BYTES);
    const low01 = v128.shuffle<i32>(block0, block1, 0, 4, 1, 5);
    const low23 = v128.shuffle<i32>(block2, block3, 0, 4, 1, 5);
    const high01 = v128.shuffle<i32>(block0, block1, 2, 6, 3, 7);
    const high23 = v128.shuffle<i32>(block2, block3, 2, 6, 3, 7);
    v128.store(to, v128.shuffle<i64>(low01, low23, 0, 2));
    v128.store(to, v128.shuffle<i64>(low01, low23, 1, 3), VECTOR_BYTES);
    v128.store(to, v128.shuffle<i64>(high01, high23, 0, 2), 2 * VECTOR_BYTES);
    v128.store(to, v128.shuffle<i64>(high01, high23, 1, 3), 3 * VECTOR_BYTES);
    to += 4 * VECTOR_BYTES;
  }
}

/** HalfSipHash-1-3 in four lanes. The rounds that end it are those of words that are zero. */
function hashWords(to: usize): void {
  let v0 = i32x4.splat(load<i32>(KEY_AT));
  let v1 = i32x4.splat(load<i32>(KEY_AT + 4) ^ 0xee);
  let v2 = i32x4.splat(load<i32>(KEY_AT + 8) ^ 0x6c796765);
  let v3 = i32x4.splat(load<i32>(KEY_AT + 12) ^ 0x74656462);
  let low = v3;
  let at = WORDS_AT;
  for (let part = 0; part < 3; part++) {
    const end = END_AT + 3 * <usize>part * VECTOR_BYTES;
    for (; at < end; at += VECTOR_BYTES) {
      const word = v128.load(at);
      v3 = v128.xor(v3, word);
      v0 = i32x4.add(v0, v1);
      v1 = v128.xor(rotate(v1, 5), v0);
      v0 = i8x16.shuffle(v0, v0, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      v2 = i32x4.add(v2, v3);
      v3 = v128.xor(rotate(v3, 8), v2);
      v0 = i32x4.add(v0, v3);
      v3 = v128.xor(rotate(v3, 7), v0);
      v2 = i32x4.add(v2, v1);
      v1 = v128.xor(rotate(v1, 13), v2);
      v2 = i8x16.shuffle(v2, v2, 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
      v0 = v128.xor(v0, word);
    }
    if (part == 0) v2 = v128.xor(v2, i32x4.splat(0xee));
    else if (part == 1) {
      low = v128.xor(v1, v3);
      v1 = v128.xor(v1, i32x4.splat(0xdd));
    }
  }
  const high = v128.xor(v1, v3);
  v128.store(to, v128.shuffle<i32>(low, high, 0, 4, 1, 5));
  v128.store(to, v128.shuffle<i32>(low, high, 2, 6, 3, 7), VECTOR_BYTES);
}

@inline
function rotate(value: v128, bits: i32): v128 {
  return v128.or(i32x4.shl(value, bits), i32x4.shr_u(value, 32 - bits));
}
