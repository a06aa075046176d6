import type { FirstBand } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';

/** How long another replica may need to learn of a free place, to use it, and to report that. */
const LEFT_MS: Millis = 100;

/**
 * Places that this replica leaves to others. A replica learns at once of the end of its own
 * requests, and later of those of the others: without this, one that has requests waiting would
 * fill each place that it frees, and the others would wait for ever.
 */
export class LeftToOthers {
  /** Until when each of the places is left. The earliest comes first. */
  #until: Millis[] = [];
  /** The part of a place that is due to others, below 1. */
  #due = 0;

  /** A place has become free. Others get as large a share as they have of what waits first. */
  freed(own: FirstBand | undefined, others: readonly FirstBand[], at: Millis): void {
    const theirs = shareOf(own, others);
    this.#due = theirs === 0 ? 0 : this.#due + theirs;
    if (this.#due < 1) return;
    this.#due -= 1;
    this.#until.push(at + LEFT_MS);
  }

  /** Another replica has placed a request. */
  taken(): void {
    this.#until.shift();
  }

  /** How many places are left to others now. */
  count(at: Millis): number {
    while ((this.#until[0] ?? Number.POSITIVE_INFINITY) <= at) this.#until.shift();
    return this.#until.length;
  }
}

/** The share of the others in the requests with the highest priority of all that wait. */
function shareOf(own: FirstBand | undefined, others: readonly FirstBand[]): number {
  if (own === undefined) return 0;
  const highest = Math.max(own.priority, ...others.map(({ priority }) => priority));
  const of = (bands: readonly FirstBand[]): number =>
    bands.reduce((sum, each) => sum + (each.priority === highest ? each.requests : 0), 0);
  const theirs = of(others);
  return theirs === 0 ? 0 : theirs / (theirs + of([own]));
}
