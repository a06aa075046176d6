import type { Clock, Millis } from '../../../../framework/runtime.ts';

/** A user who may write objects can make each of them wrong in a new way with each edit. */
const REPORTS_A_MINUTE = 30;
const MINUTE_MS: Millis = 60_000;
/** What is shown of one source. */
const SENTENCES_MAX = 16;

/**
 * What is wrong at the moment, one sentence each. Each is reported once while it lasts, at most 30
 * in a minute.
 */
export class Troubles {
  readonly #bySource = new Map<string, readonly string[]>();
  readonly #report: (sentence: string) => void;
  readonly #clock: Pick<Clock, 'now'>;
  #reports = 0;
  #since: Millis = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'now'>, report: (sentence: string) => void) {
    this.#clock = clock;
    this.#report = report;
  }

  get all(): readonly string[] {
    return [...this.#bySource.values()].flat();
  }

  /** Replaces the sentences of one source. Reports those that no source had before. */
  set(source: string, sentences: readonly string[]): void {
    const known = new Set(this.all);
    const shown =
      sentences.length <= SENTENCES_MAX
        ? sentences
        : [...sentences.slice(0, SENTENCES_MAX), 'and there are more troubles of this kind'];
    this.#bySource.set(source, shown);
    for (const sentence of new Set(shown)) if (!known.has(sentence)) this.#limited(sentence);
  }

  /** Returns whether they were the last. */
  clear(source: string): boolean {
    return this.#bySource.delete(source) && this.#bySource.size === 0;
  }

  #limited(sentence: string): void {
    const now = this.#clock.now();
    if (now - this.#since > MINUTE_MS) {
      this.#since = now;
      this.#reports = 0;
    }
    this.#reports += 1;
    if (this.#reports <= REPORTS_A_MINUTE) this.#report(sentence);
  }
}
