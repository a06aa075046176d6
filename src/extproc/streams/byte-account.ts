/** Counts the bytes of bodies that one stream keeps in memory. */
export interface ByteAccount {
  hold(bytes: number): void;
  release(bytes: number): void;
}

/** For a session whose bytes are not counted. */
export const UNCOUNTED: ByteAccount = { hold: () => undefined, release: () => undefined };

/** Objects around a chunk that is kept: a view, its memory block, and their place in a list. */
const CHUNK_OVERHEAD_BYTES = 512;
/** The hashes of a body's blocks, as a share of its size, while their array grows. */
const HASHES_SHARE = 1 / 16;

/** What a chunk costs while it is kept: one of a single byte costs hundreds. */
function chunkCostBytes(chunkBytes: number): number {
  return CHUNK_OVERHEAD_BYTES + chunkBytes + Math.ceil(chunkBytes * HASHES_SHARE);
}

/** The chunks of one body that are kept, as its stream's account has them. */
export class KeptChunks {
  readonly #account: ByteAccount;
  #bytes = 0;

  constructor(account: ByteAccount) {
    this.#account = account;
  }

  add(chunk: Uint8Array): void {
    const bytes = chunkCostBytes(chunk.length);
    this.#bytes += bytes;
    this.#account.hold(bytes);
  }

  clear(): void {
    if (this.#bytes === 0) return;
    this.#account.release(this.#bytes);
    this.#bytes = 0;
  }
}

/** More of a message than its chunk is only its head: a chunk in a shared block has more around. */
const MESSAGE_HEAD_BYTES_MAX = 256;
const UNSHARED_BYTES_MIN = 8192;

/**
 * Frees a chunk's memory at once, if it is a block of its own. The collector would do so only much
 * later: it does not see how much memory a small object outside its heap stands for.
 */
export function freeChunk({ buffer, byteLength }: Buffer): void {
  const around = buffer.byteLength - byteLength;
  if (byteLength < UNSHARED_BYTES_MIN || around > MESSAGE_HEAD_BYTES_MAX) return;
  // Moved into a block of no bytes. Node 20 cannot do so.
  if (buffer instanceof ArrayBuffer && 'transfer' in buffer) buffer.transfer(0);
}
