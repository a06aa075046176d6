import { Counter, type Registry } from 'prom-client';
import { messageOf } from '../../../framework/error.ts';

interface ReloadsOptions {
  readonly registry: Registry;
  /** The counter's name and help text. */
  readonly name: string;
  readonly help: string;
}

/** Counts reloads of a file by outcome, and keeps the reason why the last one was refused. */
export class Reloads {
  readonly #counter: Counter<'outcome'>;
  #lastError: string | undefined;

  constructor({ registry, name, help }: ReloadsOptions) {
    this.#counter = new Counter({ name, help, labelNames: ['outcome'], registers: [registry] });
    for (const outcome of ['adopted', 'refused']) this.#counter.inc({ outcome }, 0);
  }

  /** Why the present content was refused; undefined where it is in use. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  adopted(): void {
    this.#counter.inc({ outcome: 'adopted' });
  }

  /**
   * Runs `take`. Where it throws, the content is refused: `onRefused` is called with the reason,
   * but not again for the same reason, because one change of a file can cause several events.
   */
  attempt(take: () => void, onRefused: (reason: string) => void): void {
    try {
      take();
      this.#lastError = undefined;
    } catch (error) {
      const reason = messageOf(error);
      if (reason === this.#lastError) return;
      this.#lastError = reason;
      this.#counter.inc({ outcome: 'refused' });
      onRefused(reason);
    }
  }
}
