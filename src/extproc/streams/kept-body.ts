import type { SentMemory } from '../codec/stream-action.ts';
import type { ByteAccount } from './byte-account.ts';
import { BLOCK_BYTES, type MemoryPool } from './memory-pool.ts';

/** A first chunk of at most so many bytes, often the whole body, gets memory of its size. */
const SMALL_BYTES_MAX = 4096;
/** Objects around a block, and their places in lists. */
const OVERHEAD_BYTES = 512;
/** The hashes of a body's blocks, as a share of its size, while their array grows. */
const HASHES_SHARE = 1 / 16;

/** The bytes of one body, kept in blocks as they come, and counted. */
export class KeptBody {
  readonly #account: ByteAccount;
  #blocks: Buffer[] = [];
  /** Views of the blocks, up to where the open one is filled further. */
  #pieces: Buffer[] = [];
  #open: Buffer | undefined;
  /** The part of the open block that is not among the pieces. */
  #from = 0;
  #filled = 0;
  #counted = 0;

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  /** The chunk is valid during this call only. */
  add(chunk: Buffer): void {
    if (this.#pieces.length + this.#filled === 0 && chunk.length <= SMALL_BYTES_MAX) {
      const copy = Buffer.allocUnsafe(chunk.length);
      chunk.copy(copy);
      this.#pieces.push(copy);
      this.#count(chunk.length);
      return;
    }
    const block = this.#account.blocks.takeOver(chunk);
    if (block === undefined) this.#copy(chunk);
    else {
      this.#cut();
      this.#addBlock(block);
      this.#pieces.push(chunk);
    }
  }

  /** Views of all bytes, valid until they are freed. */
  get pieces(): readonly Buffer[] {
    this.#cut();
    return this.#pieces;
  }

  /** A copy of a part. */
  copy(start: number, end: number): Buffer {
    const copy = Buffer.allocUnsafeSlow(end - start);
    let from = 0;
    for (const piece of this.pieces) {
      const at = from - start;
      const skipped = Math.max(0, -at);
      if (skipped < piece.length && at < copy.length) piece.copy(copy, Math.max(0, at), skipped);
      from += piece.length;
    }
    return copy;
  }

  /** The bytes are not counted here any more: what sends them does. */
  uncount(): void {
    if (this.#counted === 0) return;
    this.#account.release(this.#counted);
    this.#counted = 0;
  }

  /** Hands the memory over to the answer that is sent from it; undefined where there is none. */
  handOver(): SentMemory | undefined {
    this.uncount();
    const blocks = this.#take();
    if (blocks.length === 0) return undefined;
    return new BlockMemory(this.#account.blocks, blocks);
  }

  /** Nothing uses the bytes any more. */
  free(): void {
    this.uncount();
    new BlockMemory(this.#account.blocks, this.#take()).free();
  }

  #take(): readonly Buffer[] {
    const blocks = this.#blocks;
    this.#blocks = [];
    this.#pieces = [];
    this.#open = undefined;
    this.#from = this.#filled = 0;
    return blocks;
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#open === undefined || this.#filled === BLOCK_BYTES) {
        this.#cut();
        this.#open = this.#account.blocks.take();
        this.#from = this.#filled = 0;
        this.#addBlock(this.#open);
      }
      const copied = chunk.copy(this.#open, this.#filled, at);
      this.#filled += copied;
      at += copied;
    }
  }

  /** Makes a piece of what has been copied since the last one. */
  #cut(): void {
    if (this.#open === undefined || this.#from === this.#filled) return;
    this.#pieces.push(this.#open.subarray(this.#from, this.#filled));
    this.#from = this.#filled;
  }

  #addBlock(block: Buffer): void {
    this.#blocks.push(block);
    this.#count(BLOCK_BYTES);
  }

  #count(bytes: number): void {
    const cost = OVERHEAD_BYTES + bytes + Math.ceil(bytes * HASHES_SHARE);
    this.#counted += cost;
    this.#account.hold(cost);
  }
}

/** The blocks of one body. */
class BlockMemory implements SentMemory {
  readonly #pool: MemoryPool;
  readonly #blocks: readonly Buffer[];

  constructor(pool: MemoryPool, blocks: readonly Buffer[]) {
    this.#pool = pool;
    this.#blocks = blocks;
  }

  free(): void {
    for (const block of this.#blocks) this.#pool.give(block);
  }

  leave(): void {
    for (let left = this.#blocks.length; left > 0; left--) this.#pool.leave();
  }
}
