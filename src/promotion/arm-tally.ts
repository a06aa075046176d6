/** Outcomes of the requests that one of two schedulers decided. */
export interface ArmReport {
  /** Requests that have ended or were refused, without those that the client aborted. */
  readonly requests: number;
  /** Requests that the model server failed or the scheduler refused. */
  readonly failed: number;
  /** Requests that the client aborted before it had an answer. */
  readonly aborted: number;
  /**
   * Requests that the profiles decided in place of the configuration's scheduler, by reason. Empty
   * where profiles decide all of them.
   */
  readonly undecided: Readonly<Record<string, number>>;
  /**
   * Time to the first token, or to the whole answer where it was not streamed: with what the request
   * waited at the picker, because the two may let requests wait differently. One that the client
   * gave up on counts with the time until then: left out, a scheduler whose slow requests are all
   * given up on would look fast. Clients are as patient with one as with the other, so the means of
   * the two can be compared.
   */
  readonly latency: {
    readonly count: number;
    readonly meanMs: number;
    readonly varianceMs2: number;
    /** The part of the mean for which requests waited at the picker. */
    readonly waitedMs: number;
  };
}

/** Further reasons count as `other`: a scheduler in a module may return any text. */
const REASONS_MAX = 16;

/** Adds up outcomes in constant memory. */
export class ArmTally {
  #requests = 0;
  #failed = 0;
  #aborted = 0;
  #count = 0;
  #meanMs = 0;
  #squares = 0;
  #waitedMs = 0;
  readonly #undecided = new Map<string, number>();

  ended(failed: boolean): void {
    this.#requests += 1;
    if (failed) this.#failed += 1;
  }

  undecided(reason: string): void {
    const reasons = this.#undecided;
    const key = reasons.has(reason) || reasons.size < REASONS_MAX ? reason : 'other';
    reasons.set(key, (reasons.get(key) ?? 0) + 1);
  }

  aborted(afterMs: number, waitedMs: number): void {
    this.#aborted += 1;
    this.answered(afterMs, waitedMs);
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
    return {
      requests: this.#requests,
      failed: this.#failed,
      aborted: this.#aborted,
      undecided: Object.fromEntries(this.#undecided),
      latency,
    };
  }
}
