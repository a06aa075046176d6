/**
 * The size of a block: a message that holds 16 KB of a body, as proxies send them, fits into one.
 */
export const BLOCK_BYTES: number = 16 * 1024 + 512;

/** A smaller share of a block is copied. */
const TAKEN_OVER_SHARE = 3 / 4;
/** At most so many of the blocks that nothing has needed for a while are freed at once. */
const TRIMMED_SHARE = 1 / 8;

/**
 * Memory for bytes that come and go, in blocks of one size that are used again. V8 collects its
 * whole heap for what is taken and given back outside of it; blocks that stay cost it nothing.
 */
export class MemoryPool {
  readonly #free: Buffer[] = [];
  /** The fewest free blocks since the last `trim`. */
  #freeMin = 0;
  #made = 0;
  #taken = 0;
  #offered: Buffer | undefined;

  /** Blocks that have been made and are not freed. */
  get size(): number {
    return this.#taken + this.#free.length;
  }

  /** Blocks that are in use. */
  get taken(): number {
    return this.#taken;
  }

  /** Blocks made since the start. */
  get made(): number {
    return this.#made;
  }

  /** A block with any content, until it is given back or left to the collector. */
  take(): Buffer {
    this.#taken += 1;
    const block = this.#free.pop();
    this.#freeMin = Math.min(this.#freeMin, this.#free.length);
    if (block !== undefined) return block;
    this.#made += 1;
    return Buffer.allocUnsafeSlow(BLOCK_BYTES);
  }

  /** Nothing uses the block any more. */
  give(block: Buffer): void {
    this.#taken -= 1;
    this.#free.push(block);
  }

  /** While a message in this block is handled, its main user may take the block over. */
  offer(block: Buffer): void {
    this.#offered = block;
  }

  /**
   * The block of a chunk that fills most of it, if it is offered: it belongs to the caller then.
   */
  takeOver(chunk: Buffer): Buffer | undefined {
    const block = this.#offered;
    if (block === undefined || chunk.buffer !== block.buffer) return undefined;
    if (chunk.length < TAKEN_OVER_SHARE * BLOCK_BYTES) return undefined;
    this.#offered = undefined;
    return block;
  }

  /** The offer is over. Returns whether the block was taken over. */
  withdraw(): boolean {
    const isTaken = this.#offered === undefined;
    this.#offered = undefined;
    return isTaken;
  }

  /** The block is used for longer than can be known: the collector frees it. */
  leave(): void {
    this.#taken -= 1;
  }

  /** Frees a part of the blocks that nothing has needed since the last call. */
  trim(): void {
    const freed = Math.floor(this.#freeMin * TRIMMED_SHARE);
    for (const block of this.#free.splice(0, freed)) freeMemory(block);
    this.#freeMin = this.#free.length;
  }
}

/**
 * Frees the memory behind a view at once, as nothing uses it any more. The collector would do so
 * only much later: it does not see how much memory a small object outside its heap stands for.
 */
export function freeMemory({ buffer }: Buffer): void {
  // Moved into a block of no bytes. Node 20 cannot do so.
  if (buffer instanceof ArrayBuffer && 'transfer' in buffer) buffer.transfer(0);
}
