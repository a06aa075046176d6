import type { Clock, Millis, Timer } from '../../../../framework/runtime.ts';

/** What may be used at once after a pause: a list of a thousand pods. */
const BURST_MS: Millis = 100;
/** A server that is ahead of the picker for so long is reported. */
const LATE_MS: Millis = 10_000;

interface PaceOptions {
  readonly clock: Clock;
  /** The share of the time that work may take. */
  readonly share: () => number;
  /** Called when work has had to wait all the time for 10 s, and when it need not wait any more. */
  readonly onLate: (late: boolean) => void;
}

/**
 * Lets the reading of an API server's answers take a share of the time at most. A reader that
 * waits for its turn reads nothing, so that the server has to wait as well, and memory stays as it
 * is. Work is measured by what it computes where the clock says that. What the thread computes
 * between two pieces of work counts as well, up to as much as the second took: there the bytes are
 * received. That some of it may be other work only slows down the reading.
 */
export class Pace {
  readonly #options: PaceOptions;
  #leftMs: Millis = BURST_MS;
  /** What the thread had computed when the last work ended. */
  #endedAtWorked: Millis;
  #at: Millis;
  #turn: Promise<unknown> = Promise.resolve();
  #waitedMs: Millis = 0;
  #lateSince: Millis | undefined;
  #late = false;
  #isStopped = false;
  /** While work waits. */
  #timer: Timer | undefined;
  #goOn: (() => void) | undefined;

  constructor(options: PaceOptions) {
    this.#options = options;
    this.#at = options.clock.now();
    this.#endedAtWorked = this.#worked();
  }

  /** How long work has waited in total. */
  get waitedMs(): Millis {
    return this.#waitedMs;
  }

  now(): Millis {
    return this.#options.clock.now();
  }

  /** Nothing waits any more: those who read see from their signals that they have ended. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#goOn?.();
  }

  /** Does the work when its turn has come: in the order of the calls. */
  run<T>(work: () => T): Promise<T> {
    const done = this.#turn.then(() => this.#take(work));
    this.#turn = done.catch(() => undefined);
    return done;
  }

  async #take<T>(work: () => T): Promise<T> {
    this.#fill();
    if (this.#leftMs <= 0 && !this.#isStopped) await this.#wait();
    const began = this.#worked();
    const before = this.#options.clock.cpuTime === undefined ? 0 : began - this.#endedAtWorked;
    try {
      return work();
    } finally {
      this.#endedAtWorked = this.#worked();
      const took = this.#endedAtWorked - began;
      this.#leftMs -= took + Math.min(took, before);
    }
  }

  async #wait(): Promise<void> {
    const { clock, share } = this.#options;
    const from = clock.now();
    this.#lateSince ??= from;
    while (this.#leftMs <= 0) {
      const waitMs = Math.max(1, -this.#leftMs / share());
      await new Promise<void>((resolve) => {
        this.#goOn = resolve;
        this.#timer = clock.setTimer(waitMs, resolve);
      });
      if (this.#isStopped) return;
      this.#fill();
    }
    this.#waitedMs += this.#at - from;
    this.#noteLate();
  }

  /** A timer that came late, as on a busy machine, may have brought so much that nothing waits. */
  #noteLate(): void {
    const since = this.#lateSince;
    if (this.#late || since === undefined || this.#at - since < LATE_MS) return;
    this.#late = true;
    this.#options.onLate(true);
  }

  #fill(): void {
    const now = this.#options.clock.now();
    this.#leftMs = Math.min(BURST_MS, this.#leftMs + this.#options.share() * (now - this.#at));
    this.#at = now;
    if (this.#leftMs < BURST_MS / 2) return;
    this.#lateSince = undefined;
    if (!this.#late) return;
    this.#late = false;
    this.#options.onLate(false);
  }

  #worked(): Millis {
    const { clock } = this.#options;
    return clock.cpuTime?.() ?? clock.now();
  }
}
