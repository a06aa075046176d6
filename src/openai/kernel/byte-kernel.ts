import { BYTE_KERNEL_CODE } from './byte-kernel-code.ts';

// Node has it; its types have not.
declare const WebAssembly: {
  readonly Module: new (code: Uint8Array) => object;
  readonly Instance: new (module: object) => { readonly exports: unknown };
};

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly textEnd: (from: number, end: number) => number;
  readonly decodeText: (from: number, end: number, to: number, last: number) => number;
  readonly hashBlocks: (from: number, count: number, kind: number, to: number) => void;
}

const KEY_WORDS = 4;
/** The kernel itself uses what is before. */
const INPUT_AT = 2048;
/** Text that is scanned at once: the processor keeps so much near. */
export const INPUT_BYTES: number = 16 * 1024;
const SPARE_BYTES = 64;
const STAGED_AT = INPUT_AT + INPUT_BYTES + SPARE_BYTES;
const BLOCK_BYTES = 256;
const STAGED_BLOCKS = 64;
const GROUP_BLOCKS = 4;
const HASHES_AT = STAGED_AT + STAGED_BLOCKS * BLOCK_BYTES;
const HASH_BYTES = 8;
/** Text of a string that is decoded at once. */
export const RAW_BYTES: number = 16 * 1024;
const RAW_AT = HASHES_AT + HASH_BYTES * (STAGED_BLOCKS + GROUP_BLOCKS);
const DECODED_AT = RAW_AT + RAW_BYTES + SPARE_BYTES;
/** Where the kernel writes the end of what it has decoded, in four bytes. */
const DECODED_END_AT = 32;

const { memory, textEnd, decodeText, hashBlocks } = new WebAssembly.Instance(
  new WebAssembly.Module(Buffer.from(BYTE_KERNEL_CODE, 'base64')),
).exports as Exports;
const keyWords = new Int32Array(memory.buffer, 0, KEY_WORDS);
const allBytes = new Uint8Array(memory.buffer);
let loadedKey: Int32Array | undefined;

/** Text to scan. Filled and read in one synchronous call, as all memory of the kernel. */
export const input: Uint8Array = new Uint8Array(memory.buffer, INPUT_AT, INPUT_BYTES + SPARE_BYTES);
/** Text to hash, in blocks of 256 bytes. */
export const staged: Uint8Array = new Uint8Array(
  memory.buffer,
  STAGED_AT,
  STAGED_BLOCKS * BLOCK_BYTES,
);
/** By block of `staged`: its hash in two words, once it is hashed. */
export const stagedHashes: Uint32Array = new Uint32Array(
  memory.buffer,
  HASHES_AT,
  2 * (STAGED_BLOCKS + GROUP_BLOCKS),
);

/**
 * Where the text of a JSON string in `input` stops: at its quote, at the first byte that is not
 * valid, at an escape that is not whole before `end`, or at `end`.
 */
export function stringEnd(from: number, end: number): number {
  return textEnd(INPUT_AT + from, INPUT_AT + end) - INPUT_AT;
}

/** Copies bytes of `input` to `staged`, where there must be room. */
export function stageInput(from: number, to: number, stagedAt: number): void {
  allBytes.copyWithin(STAGED_AT + stagedAt, INPUT_AT + from, INPUT_AT + to);
}

/** Text of a JSON string that is to be decoded. */
export const raw: Uint8Array = new Uint8Array(memory.buffer, RAW_AT, RAW_BYTES);
const decodedEnd = new Uint32Array(memory.buffer, DECODED_END_AT, 1);

/**
 * Decodes the first `end` bytes of `raw`, whose escapes are valid. `stoppedAt` is where an escape
 * begins that is not whole, or `end`; with `last`, half of a pair is whole. `text` is valid until
 * the next call.
 */
export function decodeRaw(
  end: number,
  last: boolean,
): { readonly text: Uint8Array; readonly stoppedAt: number } {
  const stoppedAt = decodeText(RAW_AT, RAW_AT + end, DECODED_AT, last ? 1 : 0) - RAW_AT;
  return { text: allBytes.subarray(DECODED_AT, decodedEnd[0]), stoppedAt };
}

/** Hashes the first `count` blocks of `staged` with a KeyedHash's key; `kind` is the last word. */
export function hashStaged(count: number, kind: number, key: Int32Array): void {
  if (key !== loadedKey) {
    keyWords.set(key);
    loadedKey = key;
  }
  hashBlocks(STAGED_AT, count, kind, HASHES_AT);
}
