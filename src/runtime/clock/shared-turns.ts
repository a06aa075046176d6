/**
 * Lets long works take turns: in each turn of the event loop one of those that wait goes on, in the
 * order in which they began to wait. So many of them take as little of a turn as one.
 */
export class SharedTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a later turn of the event loop. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#letOneGoOn);
    });
  }

  readonly #letOneGoOn = (): void => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#letOneGoOn);
  };
}
