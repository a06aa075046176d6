import type { Clock, Millis, Timer } from '../../src/framework/runtime.ts';

export interface KvLink {
  /** Bandwidth in each direction, shared by all transfers; 1 GB = 10⁹ bytes. */
  readonly gigabytesPerSecond: number;
  readonly setupMs: Millis;
  readonly bytesPerToken: number;
}

/** 200 Gb RoCE, which reaches about 20 GB/s, and an 8 B model with 128 KiB per token. */
export const KV_LINK_DEFAULT: KvLink = {
  gigabytesPerSecond: 20,
  setupMs: 1,
  bytesPerToken: 131_072,
};

export class KvPort {
  readonly link: KvLink;
  /** Transfers in progress. */
  sending = 0;
  receiving = 0;

  constructor(link: KvLink) {
    this.link = link;
  }

  get bytesPerMs(): number {
    return this.link.gigabytesPerSecond * 1e6;
  }
}

export interface KvTransfer {
  readonly tokens: number;
  /** Undefined for an end that is not simulated: another process, a store. At least one is set. */
  readonly from?: KvPort | undefined;
  readonly to?: KvPort | undefined;
}

interface Flow extends KvTransfer {
  bytesLeft: number;
  bytesPerMs: number;
  readonly done: () => void;
}

/**
 * The network of a process. The transfers of a port share its bandwidth evenly in each direction
 * (processor sharing); each has the smaller of its two shares, and the rest is not given to others.
 */
export class KvFabric {
  readonly #clock: Clock;
  readonly #flows = new Set<Flow>();
  #timer: Timer | undefined;
  #since: Millis = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `done` when the last byte has arrived. */
  send(transfer: KvTransfer, done: () => void): void {
    // The sender's link sets the size of a token's KV.
    const { setupMs, bytesPerToken } = (transfer.from ?? transfer.to)?.link ?? KV_LINK_DEFAULT;
    this.#clock.setTimer(setupMs, () => {
      this.#advance();
      const bytesLeft = transfer.tokens * bytesPerToken;
      this.#flows.add({ ...transfer, bytesLeft, bytesPerMs: 0, done });
      if (transfer.from !== undefined) transfer.from.sending += 1;
      if (transfer.to !== undefined) transfer.to.receiving += 1;
      this.#share();
    });
  }

  #advance(): void {
    const now = this.#clock.now();
    for (const flow of this.#flows) flow.bytesLeft -= (now - this.#since) * flow.bytesPerMs;
    this.#since = now;
  }

  /** Recomputes all rates and sets the timer for the next transfer to end. */
  #share(): void {
    this.#timer?.cancel();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const flow of this.#flows) {
      flow.bytesPerMs = Math.min(
        flow.from === undefined ? Infinity : flow.from.bytesPerMs / flow.from.sending,
        flow.to === undefined ? Infinity : flow.to.bytesPerMs / flow.to.receiving,
      );
      nextMs = Math.min(nextMs, flow.bytesLeft / flow.bytesPerMs);
    }
    if (this.#flows.size === 0) return;
    this.#timer = this.#clock.setTimer(Math.max(0, nextMs), () => this.#end());
  }

  #end(): void {
    this.#advance();
    const now = this.#clock.now();
    // Less than one byte left is a rounding error, and so is what takes less time than the clock
    // can show.
    const over = [...this.#flows].filter(
      ({ bytesLeft, bytesPerMs }) => bytesLeft < 1 || now + bytesLeft / bytesPerMs <= now,
    );
    for (const flow of over) {
      this.#flows.delete(flow);
      if (flow.from !== undefined) flow.from.sending -= 1;
      if (flow.to !== undefined) flow.to.receiving -= 1;
    }
    this.#share();
    for (const { done } of over) done();
  }
}
