import { HASHED_BLOCK_TOKENS, TEXTS_MAX } from '../../framework/request.ts';
import type { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { hashStaged, input, staged, stagedHashes, stageInput } from '../kernel/byte-kernel.ts';

/** Bytes of text per token without a tokenizer: the reference's estimate, good for English. */
export const BYTES_PER_TOKEN = 4;
const BLOCK_BYTES = HASHED_BLOCK_TOKENS * BYTES_PER_TOKEN;
const BLOCK_WORDS = BLOCK_BYTES / 4;
const BLOCKS_AT_FIRST = 64;
const NO_WORDS = new Uint32Array(0);
const NO_ENDS: readonly TextEnd[] = [];
/** One byte is only the line feed behind the last string of a text. */
const REST_BYTES_MIN = 2;

// One aligned buffer for all hashing; it is filled and read in one synchronous call.
const scratchWords = new Int32Array(BLOCK_WORDS + 1);
const scratch = new Uint8Array(scratchWords.buffer, 0, BLOCK_BYTES);

/**
 * The run whose text lies in the kernel's memory and is not hashed yet. Blocks are hashed many at a
 * time, and runs of requests whose chunks come in turn share that memory.
 */
const stage: { run: ContentBlocks | undefined; bytes: number } = { run: undefined, bytes: 0 };

/** Where a text of a list ends that another follows. */
interface TextEnd {
  /** The block behind it. */
  readonly block: number;
  /** Whether its last block is not full. */
  readonly hasRest: boolean;
}

/**
 * Cuts prompt text into blocks of 256 bytes and hashes each block's content as soon as it is full;
 * a `Chain` of them makes hashes depend on the blocks before.
 */
export class ContentBlocks {
  readonly #hash: KeyedHash;
  readonly #tag: number;
  /** Block i's hash is words 2i (low) and 2i+1 (high). Most runs of a request stay empty. */
  #words = NO_WORDS;
  #count = 0;
  /** The bytes of a block that is not full yet; allocated when first needed. */
  #partial: Uint8Array | undefined;
  #partialBytes = 0;
  #bytes = 0;
  #ends: TextEnd[] | undefined;

  /** Equal blocks of runs with different tags, whole numbers below 1,000, have different hashes. */
  constructor(hash: KeyedHash, tag: number) {
    this.#hash = hash;
    this.#tag = tag;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get count(): number {
    if (stage.run === this) this.#unstage();
    return this.#count;
  }

  /** The ends of all texts but the last. */
  get ends(): readonly TextEnd[] {
    return this.#ends ?? NO_ENDS;
  }

  /** Only of words below twice the count, once that was asked for. */
  word(index: number): number {
    return this.#words[index] ?? 0;
  }

  push(text: Uint8Array): void {
    this.#bytes += text.length;
    if (stage.run !== this) {
      if (this.#partialBytes + text.length < BLOCK_BYTES) {
        this.#keep(text);
        return;
      }
      this.#stage();
    }
    let rest = text;
    for (;;) {
      const room = staged.length - stage.bytes;
      if (rest.length <= room) break;
      staged.set(rest.subarray(0, room), stage.bytes);
      rest = rest.subarray(room);
      stage.bytes = staged.length;
      this.#hashStaged();
    }
    staged.set(rest, stage.bytes);
    stage.bytes += rest.length;
  }

  /** Pushes bytes of the kernel's input. */
  pushInput(from: number, to: number): void {
    if (stage.run !== this) this.#stage();
    if (stage.bytes + to - from > staged.length) {
      this.push(input.subarray(from, to));
      return;
    }
    stageInput(from, to, stage.bytes);
    stage.bytes += to - from;
    this.#bytes += to - from;
  }

  pushByte(byte: number): void {
    if (stage.run !== this) this.#stage();
    if (stage.bytes === staged.length) this.#hashStaged();
    staged[stage.bytes++] = byte;
    this.#bytes += 1;
  }

  /** Pushes the lower 32 bits of a token's id. */
  pushId(id: number): void {
    if (stage.run !== this) this.#stage();
    if (stage.bytes + BYTES_PER_TOKEN > staged.length) this.#hashStaged();
    const at = stage.bytes;
    staged[at] = id;
    staged[at + 1] = id >>> 8;
    staged[at + 2] = id >>> 16;
    staged[at + 3] = id >>> 24;
    stage.bytes = at + BYTES_PER_TOKEN;
    this.#bytes += BYTES_PER_TOKEN;
  }

  /** A run that continues this one's partial block, without the full blocks: for an answer. */
  continuation(): ContentBlocks {
    if (stage.run === this) this.#unstage();
    const next = new ContentBlocks(this.#hash, this.#tag);
    if (this.#partial !== undefined) next.#keep(this.#partial.subarray(0, this.#partialBytes));
    return next;
  }

  /** Closes a partial block, padded with zeros, so that the next text starts a new block. */
  flush(): void {
    this.#close(1);
  }

  /**
   * The next text of a list begins: no block of it depends on those before. One behind `TEXTS_MAX`
   * continues the last.
   */
  beginText(): void {
    if (this.ends.length >= TEXTS_MAX - 1) return;
    const hasRest = this.#close(REST_BYTES_MIN);
    this.#ends ??= [];
    this.#ends.push({ block: this.#count, hasRest });
  }

  /** Leaves the hash of what is behind the last full block in the run's `KeyedHash`, if any is. */
  hashRest(): boolean {
    return this.#hashPartial(REST_BYTES_MIN);
  }

  /** Ends a partial block. One of fewer bytes is left out. */
  #close(bytesMin: number): boolean {
    const isBlock = this.#hashPartial(bytesMin);
    this.#partialBytes = 0;
    if (!isBlock) return false;
    this.#makeRoom(1);
    this.#words[2 * this.#count] = this.#hash.low;
    this.#words[2 * this.#count + 1] = this.#hash.high;
    this.#count += 1;
    return true;
  }

  #hashPartial(bytesMin: number): boolean {
    if (stage.run === this) this.#unstage();
    if (this.#partial === undefined || this.#partialBytes < bytesMin) return false;
    scratch.set(this.#partial);
    scratch.fill(0, this.#partialBytes);
    scratchWords[BLOCK_WORDS] = this.#kind(this.#partialBytes);
    this.#hash.words(scratchWords, BLOCK_WORDS + 1);
    return true;
  }

  #keep(text: Uint8Array): void {
    this.#partial ??= new Uint8Array(BLOCK_BYTES);
    this.#partial.set(text, this.#partialBytes);
    this.#partialBytes += text.length;
  }

  /** Takes the kernel's memory over, with the partial block. */
  #stage(): void {
    if (stage.run !== undefined) stage.run.#unstage();
    stage.run = this;
    if (this.#partial !== undefined) staged.set(this.#partial.subarray(0, this.#partialBytes));
    stage.bytes = this.#partialBytes;
    this.#partialBytes = 0;
  }

  /** Gives it back: hashes the full blocks and keeps the rest. */
  #unstage(): void {
    this.#hashStaged();
    stage.run = undefined;
    if (stage.bytes > 0) this.#keep(staged.subarray(0, stage.bytes));
    stage.bytes = 0;
  }

  #hashStaged(): void {
    const blocks = Math.floor(stage.bytes / BLOCK_BYTES);
    if (blocks === 0) return;
    hashStaged(blocks, this.#kind(BLOCK_BYTES), this.#hash.key);
    this.#makeRoom(blocks);
    this.#words.set(stagedHashes.subarray(0, 2 * blocks), 2 * this.#count);
    this.#count += blocks;
    staged.copyWithin(0, blocks * BLOCK_BYTES, stage.bytes);
    stage.bytes -= blocks * BLOCK_BYTES;
  }

  /** A block's last word says how many bytes there are, and of which run. */
  #kind(bytes: number): number {
    return BLOCK_BYTES * this.#tag + bytes;
  }

  #makeRoom(blocks: number): void {
    let length = this.#words.length || 2 * BLOCKS_AT_FIRST;
    while (2 * (this.#count + blocks) > length) length *= 2;
    if (length === this.#words.length) return;
    const longer = new Uint32Array(length);
    longer.set(this.#words);
    this.#words = longer;
  }
}
