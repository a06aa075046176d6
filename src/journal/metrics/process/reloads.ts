import type { Registry } from 'prom-client';
import { messageOf } from '../../../framework/error.ts';
import { showMetric } from '../page/family.ts';

interface ReloadsOptions {
  readonly registry: Registry;
  /** The counter's name and help text. */
  readonly name: string;
  readonly help: string;
}

/** Counts reloads of a file by outcome, and keeps the reason why the last one was refused. */
export class Reloads {
  readonly #counts = { adopted: 0, refused: 0 };
  #lastError: string | undefined;

  constructor({ registry, name, help }: ReloadsOptions) {
    showMetric(registry, { name, help, type: 'counter' }, () =>
      Object.entries(this.#counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
    );
  }

  get counts(): { readonly adopted: number; readonly refused: number } {
    return this.#counts;
  }

  /** Why the present content was refused; undefined where it is in use. */
  get lastError(): string | undefined {
    return this.#lastError;
  }

  adopted(): void {
    this.#counts.adopted += 1;
  }

  refused(): void {
    this.#counts.refused += 1;
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
      this.refused();
      onRefused(reason);
    }
  }
}
