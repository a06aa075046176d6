import type { Endpoint } from '../../framework/endpoint.ts';
import { ByteLog } from './bytes.ts';
import type { Layout } from './layout.ts';

export interface EndpointName {
  readonly id: string;
  readonly address: string;
}

/** Consecutive decisions as bytes: the first in full, each other as what differs. */
export interface Segment {
  /** Decisions are numbered from 0 in the order in which they were made. */
  readonly first: number;
  readonly count: number;
  readonly bytes: Uint8Array;
  /** What the numbers of profiles, filters and scorers in it stand for. */
  readonly layout: Layout;
  /** For decision i, the hash of our own id at 2i and that of the client's id at 2i + 1. */
  readonly hashes: Uint32Array;
  /** By slot. */
  readonly endpoints: readonly (EndpointName | undefined)[];
  /** Time since the epoch is the decision's plus this. */
  readonly wallOffsetMs: number;
}

interface RingLimits {
  /** At least so many of the last decisions are kept, unless they take more than `bytesMax`. */
  readonly decisionsMax: number;
  readonly bytesMax: number;
}

/** To find a decision, all of its segment before it is read: in under a millisecond. */
const SEGMENT_DECISIONS = 64;
/** Bounds that time for large pools. */
const SEGMENT_BYTES_MAX = 1024 * 1024;

/** The last decisions, in bounded memory. */
export class DecisionRing {
  readonly log: ByteLog = new ByteLog();
  readonly #limits: RingLimits;
  #sealed: Segment[] = [];
  #sealedBytes = 0;
  #first = 0;
  #count = 0;
  #hashes = new Uint32Array(2 * SEGMENT_DECISIONS);
  #endpoints: (EndpointName | undefined)[] = [];
  /** Whether a sealed segment has the same array. */
  #shared = false;
  #wallOffsetMs = 0;
  #layout: Layout = [];

  constructor(limits: RingLimits) {
    this.#limits = limits;
  }

  /** The number of the first decision in the segment that is being written. */
  get first(): number {
    return this.#first;
  }

  /** The number of the next decision. */
  get next(): number {
    return this.#first + this.#count;
  }

  /** Call before a decision is written whose candidates have changed, for each of them. */
  name({ id, address, slot }: Endpoint): void {
    const known = this.#endpoints[slot];
    if (known?.id === id && known.address === address) return;
    // A segment has one name for each slot.
    if (this.#count > 0 && known !== undefined) this.#seal();
    if (this.#shared) this.#endpoints = [...this.#endpoints];
    this.#shared = false;
    this.#endpoints[slot] = { id, address };
  }

  /** Call before a decision is written. Returns whether it must be written in full. */
  begin(layout: Layout, wallOffsetMs: () => number): boolean {
    const full = this.#count === SEGMENT_DECISIONS || this.log.length > SEGMENT_BYTES_MAX;
    if (full || (layout !== this.#layout && this.#count > 0)) this.#seal();
    this.#layout = layout;
    if (this.#count === 0) this.#wallOffsetMs = wallOffsetMs();
    return this.#count === 0;
  }

  /** Call when a decision has been written. */
  end(idHash: number, requestIdHash: number): void {
    this.#hashes[2 * this.#count] = idHash;
    this.#hashes[2 * this.#count + 1] = requestIdHash;
    this.#count += 1;
  }

  /** Oldest first; the bytes of the last are only valid until more is written. */
  segments(): readonly Segment[] {
    if (this.#count === 0) return this.#sealed;
    return [...this.#sealed, this.#open(this.log.peek())];
  }

  /** The number of decisions held, and of their bytes. */
  stats(): { readonly decisions: number; readonly bytes: number } {
    const [{ first } = { first: this.#first }] = this.#sealed;
    return {
      decisions: this.#first + this.#count - first,
      bytes: this.#sealedBytes + this.log.length,
    };
  }

  #open(bytes: Uint8Array): Segment {
    return {
      first: this.#first,
      count: this.#count,
      bytes,
      layout: this.#layout,
      hashes: this.#hashes.slice(0, 2 * this.#count),
      endpoints: this.#endpoints,
      wallOffsetMs: this.#wallOffsetMs,
    };
  }

  #seal(): void {
    const segment = this.#open(this.log.take());
    this.#sealed.push(segment);
    this.#sealedBytes += segment.bytes.length;
    this.#shared = true;
    this.#first += this.#count;
    this.#count = 0;
    const { decisionsMax, bytesMax } = this.#limits;
    let [oldest] = this.#sealed;
    while (
      oldest !== undefined &&
      (this.#first - oldest.first - oldest.count >= decisionsMax || this.#sealedBytes > bytesMax)
    ) {
      this.#sealedBytes -= oldest.bytes.length;
      this.#sealed.shift();
      [oldest] = this.#sealed;
    }
  }
}
