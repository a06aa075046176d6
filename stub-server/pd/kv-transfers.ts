import type { Clock, Millis, Timer } from '../../src/framework/runtime.ts';

/** How KV goes from one server to another. */
export interface KvLink {
  /** Of one server's network interface, shared by its transfers; 1 GB = 10⁹ bytes. */
  readonly gigabytesPerSecond: number;
  readonly setupMs: Millis;
  readonly bytesPerToken: number;
}

/** 200 Gb RoCE, which reaches about 20 GB/s, and an 8 B model's 128 KiB a token. */
export const KV_LINK_DEFAULT: KvLink = {
  gigabytesPerSecond: 20,
  setupMs: 1,
  bytesPerToken: 131_072,
};

/** As VLLM_NIXL_ABORT_REQUEST_TIMEOUT. */
const HOLD_MS = 480_000;

interface Held {
  readonly release: () => void;
  readonly timer: Timer;
}

interface Transfer {
  bytesLeft: number;
  readonly done: () => void;
}

/**
 * One server's side of disaggregated requests: it holds the blocks of a finished prefill until they are pulled or their
 * time is over, and sends them over a link that all its transfers share evenly (processor sharing).
 */
export class KvTransfers {
  readonly #clock: Clock;
  readonly #link: KvLink;
  readonly #held = new Map<string, Held>();
  readonly #sending = new Set<Transfer>();
  #timer: Timer | undefined;
  #since: Millis = 0;

  constructor(clock: Clock, link: KvLink) {
    this.#clock = clock;
    this.#link = link;
  }

  get heldRequests(): number {
    return this.#held.size;
  }

  /** Blocks of `requestId` are kept until `pull` or `drop`, or until nobody has come for them. */
  hold(requestId: string, release: () => void): void {
    this.drop(requestId);
    const timer = this.#clock.setTimer(HOLD_MS, () => this.drop(requestId));
    this.#held.set(requestId, { release, timer });
  }

  /** Gives up what is kept for a request, if anything is. */
  drop(requestId: string): void {
    const held = this.#held.get(requestId);
    if (held === undefined) return;
    this.#held.delete(requestId);
    held.timer.cancel();
    held.release();
  }

  /** Sends `tokens` tokens of a held request. False when nothing is held for it. */
  pull(requestId: string, tokens: number, done: () => void): boolean {
    if (!this.#held.has(requestId)) return false;
    this.send(tokens, () => {
      this.drop(requestId);
      done();
    });
    return true;
  }

  /** Sends so many tokens over this server's link. */
  send(tokens: number, done: () => void): void {
    const { setupMs, bytesPerToken } = this.#link;
    this.#clock.setTimer(setupMs, () => {
      this.#advance();
      this.#sending.add({ bytesLeft: tokens * bytesPerToken, done });
      this.#arm();
    });
  }

  /** Brings every transfer up to now, each with its even share. */
  #advance(): void {
    const now = this.#clock.now();
    const sent = this.#sending.size === 0 ? 0 : (now - this.#since) * this.#share();
    this.#since = now;
    for (const transfer of this.#sending) transfer.bytesLeft -= sent;
  }

  /** Bytes a millisecond for each. */
  #share(): number {
    return (this.#link.gigabytesPerSecond * 1e6) / this.#sending.size;
  }

  #arm(): void {
    this.#timer?.cancel();
    if (this.#sending.size === 0) return;
    const least = Math.min(...[...this.#sending].map(({ bytesLeft }) => bytesLeft));
    this.#timer = this.#clock.setTimer(Math.max(0, least) / this.#share(), () => {
      this.#advance();
      const over = [...this.#sending].filter(({ bytesLeft }) => bytesLeft < 1);
      for (const transfer of over) this.#sending.delete(transfer);
      this.#arm();
      for (const transfer of over) transfer.done();
    });
  }
}
