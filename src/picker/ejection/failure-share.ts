import type { Millis } from '../../framework/runtime.ts';

/** After this time an answer counts for 1/e. */
const MEMORY_MS = 10_000;

/** Failed and all answers of the last ten seconds or so; older ones count less. */
export class FailureShare {
  #failed = 0;
  #all = 0;
  #at: Millis = 0;

  add(answer: 'failed' | 'good', at: Millis): void {
    this.#fade(at);
    this.#all += 1;
    if (answer === 'failed') this.#failed += 1;
  }

  failed(at: Millis): number {
    this.#fade(at);
    return this.#failed;
  }

  all(at: Millis): number {
    this.#fade(at);
    return this.#all;
  }

  clear(): void {
    this.#failed = 0;
    this.#all = 0;
  }

  #fade(at: Millis): void {
    if (at === this.#at) return;
    const kept = Math.exp((this.#at - at) / MEMORY_MS);
    this.#failed *= kept;
    this.#all *= kept;
    this.#at = at;
  }
}
