import type { Clock, Millis } from '../../../src/framework/runtime.ts';
import type { BlockSink } from './block-sink.ts';

export interface HostTierOptions {
  /** Blocks that fit in host memory. */
  readonly blocks: number;
  /** The speed of each direction between host and accelerator; 1 GB = 10⁹ bytes. */
  readonly gigabytesPerSecond: number;
  /** For each transfer. */
  readonly setupMs: Millis;
  readonly bytesPerToken: number;
}

/** PCIe 5 with 16 lanes: 40 to 45 GB/s in published runs of vLLM's offloading. */
export const HOST_TIER_DEFAULT: Pick<HostTierOptions, 'gigabytesPerSecond' | 'setupMs'> = {
  gigabytesPerSecond: 40,
  setupMs: 0.1,
};

interface HostTierParts extends HostTierOptions {
  readonly blockTokens: number;
  readonly clock: Clock;
  readonly sink?: BlockSink | undefined;
}

/** Transfers in one direction. */
interface Traffic {
  bytes: number;
  /** Time that the transfers took, in ms. */
  spentMs: Millis;
  transfers: number;
}

/**
 * KV blocks in host memory, as vLLM's offloading connector keeps them: each block that the
 * accelerator fills is copied here, and the least recently used one leaves when there is no room.
 * Copies to the host do not delay steps; loads go one after the other.
 */
export class HostTier {
  lookups = 0;
  hits = 0;
  evictions = 0;
  readonly stores: Traffic = { bytes: 0, spentMs: 0, transfers: 0 };
  readonly loads: Traffic = { bytes: 0, spentMs: 0, transfers: 0 };
  readonly #parts: HostTierParts;
  /** Content hashes, least recently used first. */
  readonly #held = new Set<number>();
  /** When the last load ends. */
  #busyUntil: Millis = 0;

  constructor(parts: HostTierParts) {
    this.#parts = parts;
  }

  /** Share of the blocks in use, 0 to 1. */
  get usage(): number {
    return this.#held.size / this.#parts.blocks;
  }

  /** Content hashes of all blocks: for tests. */
  contents(): ReadonlySet<number> {
    return this.#held;
  }

  /** Copies blocks `first` to `end` of a chain that are not here yet. */
  store(hashes: ArrayLike<number>, first: number, end: number): void {
    const added: number[] = [];
    for (let index = first; index < end; index++) {
      const hash = hashes[index] as number;
      if (this.#held.has(hash)) continue;
      this.#held.add(hash);
      added.push(hash);
    }
    if (added.length === 0) return;
    this.#count(this.stores, added.length * this.#parts.blockTokens);
    this.#parts.sink?.offloaded(added);
    this.#evict();
  }

  /**
   * The end of the run of blocks from `first` on that are here, at most `limit`; `first` without
   * any. All that it finds becomes the most recent, the head of the chain last.
   */
  find(hashes: ArrayLike<number>, first: number, limit: number): number {
    let end = first;
    while (end < limit && this.#held.has(hashes[end] as number)) end += 1;
    this.lookups += limit - first;
    this.hits += end - first;
    for (let index = end - 1; index >= 0; index--) this.#touch(hashes[index] as number);
    return end;
  }

  /** Loads `tokens` tokens into memory of the accelerator, then calls `ready`. */
  load(tokens: number, ready: () => void): void {
    const { clock } = this.#parts;
    const now = clock.now();
    this.#busyUntil = Math.max(now, this.#busyUntil) + this.#count(this.loads, tokens);
    clock.setTimer(this.#busyUntil - now, ready);
  }

  /** Forgets everything, as a crash does. The clearing of the accelerator's memory says so. */
  clear(): void {
    this.#held.clear();
    this.#busyUntil = 0;
  }

  #touch(hash: number): void {
    if (this.#held.delete(hash)) this.#held.add(hash);
  }

  #evict(): void {
    const evicted: number[] = [];
    for (const hash of this.#held) {
      if (this.#held.size <= this.#parts.blocks) break;
      this.#held.delete(hash);
      evicted.push(hash);
    }
    if (evicted.length === 0) return;
    this.evictions += evicted.length;
    this.#parts.sink?.evictedFromHost(evicted);
  }

  /** Counts a transfer and returns how long it takes. */
  #count(traffic: Traffic, tokens: number): Millis {
    const { bytesPerToken, gigabytesPerSecond, setupMs } = this.#parts;
    const bytes = tokens * bytesPerToken;
    const spentMs = setupMs + bytes / (gigabytesPerSecond * 1e6);
    traffic.bytes += bytes;
    traffic.spentMs += spentMs;
    traffic.transfers += 1;
    return spentMs;
  }
}
