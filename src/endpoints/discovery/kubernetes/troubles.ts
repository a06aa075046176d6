/** What is wrong at the moment, one sentence each; each is reported once while it lasts. */
export class Troubles {
  readonly #bySource = new Map<string, readonly string[]>();
  readonly #report: (sentence: string) => void;

  constructor(report: (sentence: string) => void) {
    this.#report = report;
  }

  get all(): readonly string[] {
    return [...this.#bySource.values()].flat();
  }

  /** Replaces the sentences of one source. Reports those that no source had before. */
  set(source: string, sentences: readonly string[]): void {
    const known = new Set(this.all);
    this.#bySource.set(source, sentences);
    for (const sentence of new Set(sentences)) if (!known.has(sentence)) this.#report(sentence);
  }

  /** Returns whether they were the last. */
  clear(source: string): boolean {
    return this.#bySource.delete(source) && this.#bySource.size === 0;
  }
}
