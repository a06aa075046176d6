import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { ArrivalTrend } from './arrival-trend.ts';

/** The pickers of the same pool that share what they do with this one. */
export interface OtherPickers {
  /** Whether what they do is known now. */
  readonly connected: () => boolean;
  /** Requests that wait there, as far as they say so. */
  readonly waiting: () => number;
}

export interface CountedArrivalsOptions {
  readonly clock: Clock;
  /** Requests that wait at the picker. */
  readonly waiting: () => number;
  /** Requests so far that left without a decision: they were demand, too. None when left out. */
  readonly undecided?: (() => number) | undefined;
  /** Left out where nothing is shared. */
  readonly others?: OtherPickers | undefined;
}

/** The requests that come in a second, how that grows, and those that wait. */
export interface Arriving {
  readonly rate: number;
  readonly slope: number;
  readonly waiting: number;
}

const SECOND_MS: Millis = 1000;
/**
 * Others say within 50 ms what they have placed. What comes later is mostly what they had open when
 * the connection began, and has arrived before.
 */
const NEWS_MS: Millis = 250;

/** Counts what arrives, second by second, here and at the pickers that share with this one. */
export class CountedArrivals {
  readonly #options: CountedArrivalsOptions;
  readonly #own = new ArrivalTrend();
  readonly #others = new ArrivalTrend();
  readonly #whole = new ArrivalTrend();
  #arrived = 0;
  #arrivedElsewhere = 0;
  #waited = 0;
  #undecided = 0;
  #lastAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: CountedArrivalsOptions) {
    this.#options = options;
  }

  /** Calls `counted` after each second, until it is stopped. */
  start(counted: () => void): { stop(): void } {
    const { clock } = this.#options;
    let timer: Timer;
    const tick = (): void => {
      this.#count();
      counted();
      timer = clock.setTimer(SECOND_MS, tick);
    };
    timer = clock.setTimer(SECOND_MS, tick);
    return { stop: () => timer.cancel() };
  }

  /** A request is decided here. */
  arrived(at: Millis): void {
    this.#arrived += 1;
    this.#lastAt = at;
  }

  /** Another picker has placed a request. */
  arrivedElsewhere(at: Millis): void {
    this.#lastAt = Math.max(at, this.#lastAt);
    if (this.#options.clock.now() - at <= NEWS_MS) this.#arrivedElsewhere += 1;
  }

  /** When the last request came. */
  get lastAt(): Millis {
    return this.#lastAt;
  }

  /** What comes to this picker. */
  get own(): Arriving {
    const { rate, slope } = this.#own;
    return { rate, slope, waiting: this.#options.waiting() };
  }

  /** What comes to the pool, as far as it is known. */
  get whole(): Arriving {
    const { rate, slope } = this.#whole;
    const { waiting, others } = this.#options;
    return { rate, slope, waiting: waiting() + (others?.waiting() ?? 0) };
  }

  /** How many seconds were counted, up to two minutes. */
  get seconds(): number {
    return this.#own.seconds;
  }

  #count(): void {
    const { clock, waiting, undecided = () => 0, others } = this.#options;
    const [now, left] = [waiting(), undecided()];
    // What waits has arrived and is not decided yet; what was refused while it waited never is.
    const own = Math.max(0, this.#arrived + now - this.#waited + left - this.#undecided);
    this.#own.add(own);
    // Without a connection as many requests as before come to the others.
    const known = others?.connected() === true;
    if (known) this.#others.add(this.#arrivedElsewhere);
    this.#whole.add(own + (known ? this.#arrivedElsewhere : this.#others.rate));
    if (now + (others?.waiting() ?? 0) > 0) this.#lastAt = clock.now();
    [this.#arrived, this.#arrivedElsewhere, this.#waited, this.#undecided] = [0, 0, now, left];
  }
}

/** The part of what arrives, with what waits at servers. */
export function partOf(
  { rate, slope, waiting }: Arriving,
  share: number,
  queued: number,
): Arriving {
  return { rate: share * rate, slope: share * slope, waiting: share * waiting + queued };
}
