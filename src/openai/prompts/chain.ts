import type { KeyedHash } from '../../framework/values/keyed-hash.ts';

/** murmur3's finaliser: every input bit affects every output bit. */
function finalizeHash(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/**
 * A chain's hashes. Mixing is public and loses nothing, as each step is reversible. What it mixes
 * is secret: the root and the blocks are results of a keyed hash.
 */
export class Chain {
  low: number;
  high: number;

  /** `root`: what gives equal texts different hashes, such as model, adapter and cache salt. */
  constructor(root: string, hash: KeyedHash) {
    hash.text(root);
    this.low = hash.low;
    this.high = hash.high;
  }

  /** Continues behind a block with this hash. */
  resume(low: number, high: number): void {
    this.low = low;
    this.high = high;
  }

  add(low: number, high: number): void {
    const mixed = finalizeHash(Math.imul(this.low ^ low, 0x9e3779b1) + this.high);
    this.high = finalizeHash(Math.imul(this.high ^ high, 0x85ebca77) + mixed);
    this.low = mixed;
  }
}
