import type { Clock, Timer } from '../../framework/runtime.ts';

/** The log gets lines once in this interval. */
const INTERVAL_MS = 1000;
/** The most lines at once; further ones follow an interval later. */
const LINES_MAX = 10;

/**
 * Bounds the log lines about many things that change: at most ten in a second, and one for each
 * thing, about its state at that time.
 */
export class PacedLines<Key> {
  readonly #clock: Clock;
  readonly #write: (key: Key) => boolean;
  readonly #changed = new Set<Key>();
  #timer: Timer | undefined;

  /** `write` writes a line where there is news, and returns whether it has. */
  constructor(clock: Clock, write: (key: Key) => boolean) {
    this.#clock = clock;
    this.#write = write;
  }

  /** Something may have to be written about `key`. */
  changed(key: Key): void {
    this.#changed.add(key);
    this.#timer ??= this.#clock.setTimer(INTERVAL_MS, this.#writeLines);
  }

  stop(): void {
    this.#timer?.cancel();
  }

  readonly #writeLines = (): void => {
    this.#timer = undefined;
    let lines = 0;
    for (const key of this.#changed) {
      if (lines === LINES_MAX) break;
      this.#changed.delete(key);
      if (this.#write(key)) lines += 1;
    }
    if (this.#changed.size === 0) return;
    this.#timer = this.#clock.setTimer(INTERVAL_MS, this.#writeLines);
  };
}
