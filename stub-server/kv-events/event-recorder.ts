import type { BlockSink } from '../engine/kv-cache/block-sink.ts';
import type { BlockChain } from '../engine/kv-cache/cached-sequence.ts';
import type { KvEvent } from './kv-event.ts';

/** A usual step has fewer events. A full batch is published early, so its size is bounded. */
const EVENTS_MAX = 10_000;

/** Collects the events of a prefix cache until `take`: vLLM publishes them once per step. */
export class EventRecorder implements BlockSink {
  readonly #blockTokens: number;
  readonly #onFull: (events: readonly KvEvent[]) => void;
  #events: KvEvent[] = [];
  /** Hashes of the last event if it is a removal. */
  #removing: number[] | undefined;

  constructor(blockTokens: number, onFull: (events: readonly KvEvent[]) => void) {
    this.#blockTokens = blockTokens;
    this.#onFull = onFull;
  }

  stored({ blockHashes, tokenIds, lora }: BlockChain, first: number, count: number): void {
    const hashes = Array.from(
      { length: count },
      (_, index) => blockHashes[first + index] as number,
    );
    const from = first * this.#blockTokens;
    const tokens = Math.min(count * this.#blockTokens, Math.max(0, (tokenIds?.length ?? 0) - from));
    this.#add({
      type: 'BlockStored',
      blockHashes: hashes,
      parentBlockHash: first === 0 ? null : (blockHashes[first - 1] as number),
      tokenIds: Array.from({ length: tokens }, (_, index) => (tokenIds?.[from + index] ?? 0) >>> 0),
      blockSize: this.#blockTokens,
      loraName: lora ?? null,
      medium: 'GPU',
    });
  }

  removed(hash: number): void {
    // Consecutive removals are one event.
    if (this.#removing !== undefined) {
      this.#removing.push(hash);
      return;
    }
    const blockHashes = [hash];
    this.#add({ type: 'BlockRemoved', blockHashes, medium: 'GPU' });
    if (this.#events.length > 0) this.#removing = blockHashes;
  }

  /** vLLM names such blocks by their hashes only. */
  offloaded(blockHashes: readonly number[]): void {
    const unnamed = { parentBlockHash: null, tokenIds: [], blockSize: 0, loraName: null };
    this.#add({ type: 'BlockStored', blockHashes, ...unnamed, medium: 'CPU' });
  }

  evictedFromHost(blockHashes: readonly number[]): void {
    this.#add({ type: 'BlockRemoved', blockHashes, medium: 'CPU' });
  }

  cleared(): void {
    this.#add({ type: 'AllBlocksCleared' });
  }

  /** Returns all events since the last call, in order. */
  take(): readonly KvEvent[] {
    const events = this.#events;
    this.#events = [];
    this.#removing = undefined;
    return events;
  }

  #add(event: KvEvent): void {
    this.#removing = undefined;
    this.#events.push(event);
    if (this.#events.length >= EVENTS_MAX) this.#onFull(this.take());
  }
}
