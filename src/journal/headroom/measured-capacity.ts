import type { Millis } from '../../framework/runtime.ts';
import { PRESENT_S } from './arrival-trend.ts';

/** What is known of a stage when a second is over. */
export interface SecondOfStage {
  readonly at: Millis;
  /** Whether one more request would have missed an objective. */
  readonly isSaturated: boolean;
  /** Requests per second, by the model of its engines. */
  readonly modelled: number;
  /** Requests that run there, of all pickers. */
  readonly running: number;
  /** The part of them that is counted here, above 0 and at most 1. */
  readonly counted: number;
}

/** What servers showed under a fault or another load is half forgotten after so long. */
const HALF_LIFE_MS: Millis = 3_600_000;

/**
 * Requests that ended, in those that run at a time: with fewer, it is chance whether one group more
 * or less ended in the time; with more, the older half is left out.
 */
const ROUNDS_MIN = 2;
const ROUNDS_MAX = 8;

/** Without saturation, what was longer ago says nothing about what is served now. */
const IDLE_MAX_S = 8 * PRESENT_S;

/**
 * How much of its modelled capacity a stage has shown. While it is saturated, it serves all that it
 * can: as many requests as end then. That is less than the model says where something slows the
 * servers that the model does not know, such as a bound of requests that run at a time. It counts
 * while the stage is saturated, for at least as long as demand is a mean over and until twice as
 * many requests have ended as run at a time. A stage that serves more without being saturated has shown
 * more.
 */
export class MeasuredCapacity {
  /** Seconds of the present window, and requests that ended in it. */
  #seconds = 0;
  #ended = 0;
  #wasSaturated = false;
  #share = 1;
  #shownAt: Millis = 0;

  /** A request has ended. */
  ended(): void {
    this.#ended += 1;
  }

  /** The part of the modelled capacity, above 0 and at most 1. */
  shareAt(at: Millis): number {
    return this.#share ** (0.5 ** ((at - this.#shownAt) / HALF_LIFE_MS));
  }

  /** Call once a second. */
  look({ at, isSaturated, modelled, running, counted }: SecondOfStage): void {
    if (isSaturated !== this.#wasSaturated) {
      [this.#seconds, this.#ended, this.#wasSaturated] = [0, 0, isSaturated];
      return;
    }
    this.#seconds += 1;
    const rounds = this.#ended / Math.max(1, running * counted);
    if (this.#seconds >= PRESENT_S && rounds >= ROUNDS_MIN && modelled > 0) {
      const shown = Math.min(1, this.#ended / counted / this.#seconds / modelled);
      if (isSaturated || shown > this.shareAt(at)) [this.#share, this.#shownAt] = [shown, at];
    }
    const isLong = rounds >= ROUNDS_MAX || (!isSaturated && this.#seconds >= IDLE_MAX_S);
    if (!isLong) return;
    this.#ended /= 2;
    this.#seconds /= 2;
  }
}
