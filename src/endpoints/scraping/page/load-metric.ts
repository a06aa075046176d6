import type { SeriesFinder } from './prometheus-scan.ts';

/**
 * One of the values that every engine reports. Where there are several series, the first found
 * counts.
 */
export class LoadMetric {
  readonly #finders: readonly SeriesFinder[];
  readonly #combine: (a: number, b: number) => number;
  readonly #max: number;
  /** The one whose value was read last. */
  #found: SeriesFinder | undefined;

  constructor(
    finders: readonly SeriesFinder[],
    combine: (a: number, b: number) => number,
    max: number,
  ) {
    this.#finders = finders;
    this.#combine = combine;
    this.#max = max;
  }

  /** Undefined where the page has none of the series. Any value may be returned. */
  read(page: Buffer): number | undefined {
    for (const finder of this.#finders) {
      const value = finder.combined(page, this.#combine);
      if (value === undefined) continue;
      this.#found = finder;
      return value;
    }
    return undefined;
  }

  /** See `SeriesFinder`; of the series that were read last. */
  distinct(page: Buffer, labels: readonly string[]): number {
    return this.#found?.distinct(page, labels) ?? 1;
  }

  /** Why the value that was read last cannot be; the rest of a sentence that begins with a URL. */
  problem(value: number | undefined): string | undefined {
    if (value === undefined || (value >= 0 && value <= this.#max)) return undefined;
    return `says that ${this.#found?.name} is ${value}; it must be a number from 0 to ${this.#max}`;
  }
}

/** Whether a value is a number from 0 to `max`. */
export function isWithin(value: number | undefined, max: number): value is number {
  return value !== undefined && value >= 0 && value <= max;
}
