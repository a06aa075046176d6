/** Outcomes of the requests that one of two schedulers decided. */
export interface ArmReport {
  /** Requests that have ended or were refused, without those that the client aborted. */
  readonly requests: number;
  /** Requests that the model server failed or the scheduler refused. */
  readonly failed: number;
  /**
   * Time to the first token, or to the whole answer where it was not streamed: with what the request
   * waited at the picker, because the two may let requests wait differently.
   */
  readonly latency: {
    readonly count: number;
    readonly meanMs: number;
    readonly varianceMs2: number;
    /** What of the mean was waiting at the picker. */
    readonly waitedMs: number;
  };
}

/** Adds up outcomes in constant memory. */
export class ArmTally {
  #requests = 0;
  #failed = 0;
  #count = 0;
  #meanMs = 0;
  #squares = 0;
  #waitedMs = 0;

  ended(failed: boolean): void {
    this.#requests += 1;
    if (failed) this.#failed += 1;
  }

  /** Welford's update. `waitedMs` is a part of the latency. */
  answered(latencyMs: number, waitedMs: number): void {
    this.#count += 1;
    this.#waitedMs += waitedMs;
    const delta = latencyMs - this.#meanMs;
    this.#meanMs += delta / this.#count;
    this.#squares += delta * (latencyMs - this.#meanMs);
  }

  report(): ArmReport {
    const count = this.#count;
    const varianceMs2 = count < 2 ? 0 : this.#squares / (count - 1);
    const waitedMs = count === 0 ? 0 : this.#waitedMs / count;
    const latency = { count, meanMs: this.#meanMs, varianceMs2, waitedMs };
    return { requests: this.#requests, failed: this.#failed, latency };
  }
}
