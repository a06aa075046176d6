import { freeMemory, MemoryPool } from './memory-pool.ts';

/** Counts the bytes of bodies that one stream keeps in memory, and has the memory for them. */
export interface ByteAccount {
  readonly blocks: MemoryPool;
  hold(bytes: number): void;
  release(bytes: number): void;
}

/** For sessions whose bytes are not counted. */
export const UNCOUNTED: ByteAccount = {
  blocks: new MemoryPool(),
  hold: () => undefined,
  release: () => undefined,
};

/** More of a read than what came with it: it shares its memory with others. */
const UNSHARED_BYTES_MAX = 256;
const UNSHARED_BYTES_MIN = 8192;

/** Frees a piece's memory at once, if it is a block of its own and worth it. */
export function freeChunk(chunk: Buffer): void {
  const { buffer, byteLength } = chunk;
  const around = buffer.byteLength - byteLength;
  if (byteLength >= UNSHARED_BYTES_MIN && around <= UNSHARED_BYTES_MAX) freeMemory(chunk);
}
