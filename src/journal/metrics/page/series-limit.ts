import type { Millis } from '../../../framework/runtime.ts';

export interface SeriesLimitOptions {
  /** The most lines of the page whose labels clients, endpoints and rules choose. */
  readonly linesMax?: number | undefined;
  /** Series that nothing has used for this long are dropped, at the latest after twice as long. */
  readonly idleMs?: Millis | undefined;
  /** Without a clock no series is idle. */
  readonly clock?: { now(): Millis } | undefined;
}

/** Something with series that can be dropped. */
interface SeriesHolder {
  /** Drops at most so many series that were last used before this period. Returns how many. */
  drop(period: number, most: number): number;
}

/** Some 600 combinations of model and fairness id; a page of at most about 30 MB. */
export const LINES_MAX = 200_000;
export const IDLE_MS = 3_600_000;
/** It takes well under a millisecond to look at so many. */
const DROPS_AT_ONCE = 50;

/** Bounds the lines of all families together, and finds the series that nothing uses any more. */
export class SeriesLimit {
  readonly linesMax: number;
  readonly #idleMs: Millis;
  readonly #now: () => Millis;
  readonly #holders: SeriesHolder[] = [];
  #lines = 0;
  /** Counts idle times; a series notes the one in which it was last used. */
  #period = 0;
  #periodEndsAt: Millis;
  /** Whether series of earlier periods may be left. */
  #mayDrop = false;

  constructor({ linesMax = LINES_MAX, idleMs = IDLE_MS, clock }: SeriesLimitOptions = {}) {
    this.linesMax = linesMax;
    this.#idleMs = idleMs;
    this.#now = clock === undefined ? () => 0 : () => clock.now();
    this.#periodEndsAt = this.#now() + idleMs;
  }

  get lines(): number {
    return this.#lines;
  }

  get period(): number {
    return this.#period;
  }

  register(holder: SeriesHolder): void {
    this.#holders.push(holder);
  }

  /** Returns whether there is room for so many lines; then they are taken. */
  take(lines: number): boolean {
    if (this.#lines + lines > this.linesMax) this.dropIdle();
    if (this.#lines + lines > this.linesMax) return false;
    this.#lines += lines;
    return true;
  }

  free(lines: number): void {
    this.#lines -= lines;
  }

  /** Drops some of the series that nothing has used for an idle time. */
  dropIdle(): void {
    const now = this.#now();
    if (now >= this.#periodEndsAt) {
      this.#period += 1;
      this.#periodEndsAt = now + this.#idleMs;
      this.#mayDrop = true;
    }
    if (!this.#mayDrop) return;
    let left = DROPS_AT_ONCE;
    for (const holder of this.#holders) left -= holder.drop(this.#period - 1, left);
    this.#mayDrop = left === 0;
  }
}
