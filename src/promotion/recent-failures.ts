/** How many of the latest requests failed, or were left undecided. */
export interface FailureCount {
  readonly requests: number;
  readonly failed: number;
}

/** With this many requests both counts are halved, so that old requests lose their weight. */
const REQUESTS_MAX = 10_000;

/** Counts the failures among about the last 5,000 to 10,000 requests in constant memory. */
export class RecentFailures {
  #requests = 0;
  #failed = 0;

  ended(failed: boolean): void {
    this.#requests += 1;
    if (failed) this.#failed += 1;
    if (this.#requests < REQUESTS_MAX) return;
    this.#requests /= 2;
    this.#failed /= 2;
  }

  report(): FailureCount {
    return { requests: this.#requests, failed: Math.round(this.#failed) };
  }
}
