import type { EndpointMetrics } from '../../../framework/endpoint.ts';
import type { Millis } from '../../../framework/runtime.ts';
import type { Rhythm } from './rhythm.ts';
import type { SlotSize } from './slot-timers.ts';

/** An endpoint counts as busy for so long after it was: requests often come one after another. */
const AFTERWARDS_MS = 1000;

/** Whether an endpoint is busy: by our requests, and by what it reports of those of others. */
export class Activity {
  readonly #rhythm: Rhythm;
  #open = 0;
  #busyAt: Millis;
  /** What a new endpoint does is not known. */
  #isBusy = true;

  constructor(rhythm: Rhythm, now: Millis) {
    this.#rhythm = rhythm;
    this.#busyAt = now;
    rhythm.count(true, 1);
  }

  get intervalMs(): Millis {
    return this.#rhythm.intervalMs(this.#isBusy);
  }

  get slot(): SlotSize | undefined {
    return this.#rhythm.slot(this.#isBusy);
  }

  /** Returns whether it was idle before. */
  requestBegan(now: Millis): boolean {
    this.#open += 1;
    return this.#busy(now);
  }

  /** Returns what `requestBegan` returns. The request may have begun before the data source. */
  requestEnded(now: Millis): boolean {
    this.#open = Math.max(0, this.#open - 1);
    return this.#busy(now);
  }

  sampled({ runningRequests, waitingQueueSize, sampledAt }: EndpointMetrics): void {
    if (runningRequests > 0 || waitingQueueSize > 0) this.#busy(sampledAt);
  }

  /** To be called from time to time: no event says when an endpoint becomes idle. */
  age(now: Millis): void {
    if (this.#isBusy && this.#open === 0 && now - this.#busyAt > AFTERWARDS_MS) this.#become(false);
  }

  stop(): void {
    this.#rhythm.count(this.#isBusy, -1);
  }

  #busy(at: Millis): boolean {
    this.#busyAt = Math.max(this.#busyAt, at);
    if (this.#isBusy) return false;
    this.#become(true);
    return true;
  }

  #become(isBusy: boolean): void {
    this.#rhythm.count(this.#isBusy, -1);
    this.#isBusy = isBusy;
    this.#rhythm.count(isBusy, 1);
  }
}
