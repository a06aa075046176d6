import type { Clock, Millis, Timer } from '../../framework/runtime.ts';

/** The log gets lines once in this interval. */
const INTERVAL_MS = 1000;
/** The most lines at once; further ones follow an interval later. */
const LINES_MAX = 10;
/** The most in a minute; further ones follow in the next. */
const LINES_A_MINUTE = 100;
const MINUTE_MS: Millis = 60_000;

interface PacedLinesOptions<Key> {
  readonly clock: Clock;
  /** Writes a line where there is news, and returns whether it has. */
  readonly write: (key: Key) => boolean;
  /** Called when a minute has its lines, with the number of things that have changed beside. */
  readonly onMore: (things: number) => void;
}

/**
 * Bounds the log lines about many things that change: at most ten in a second and a hundred in a
 * minute, and one for each thing, about its state at that time.
 */
export class PacedLines<Key> {
  readonly #options: PacedLinesOptions<Key>;
  readonly #changed = new Set<Key>();
  #timer: Timer | undefined;
  #minuteEndsAt: Millis = Number.NEGATIVE_INFINITY;
  #leftInMinute = 0;

  constructor(options: PacedLinesOptions<Key>) {
    this.#options = options;
  }

  /** Something may have to be written about `key`. */
  changed(key: Key): void {
    this.#changed.add(key);
    this.#timer ??= this.#options.clock.setTimer(INTERVAL_MS, this.#writeLines);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  readonly #writeLines = (): void => {
    const { clock, write, onMore } = this.#options;
    const now = clock.now();
    this.#timer = undefined;
    if (now >= this.#minuteEndsAt) {
      this.#minuteEndsAt = now + MINUTE_MS;
      this.#leftInMinute = LINES_A_MINUTE;
    }
    const max = Math.min(LINES_MAX, this.#leftInMinute);
    let lines = 0;
    for (const key of this.#changed) {
      if (lines === max) break;
      this.#changed.delete(key);
      if (write(key)) lines += 1;
    }
    this.#leftInMinute -= lines;
    if (this.#changed.size === 0) return;
    if (this.#leftInMinute === 0) onMore(this.#changed.size);
    const waitMs = this.#leftInMinute === 0 ? this.#minuteEndsAt - now : INTERVAL_MS;
    this.#timer = clock.setTimer(waitMs, this.#writeLines);
  };
}
