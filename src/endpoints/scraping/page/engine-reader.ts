import { dataParallelRank } from '../../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { EngineMapping } from './engine-metrics.ts';
import { PageReader } from './page-reader.ts';
import type { PageReading, PageRefusal } from './reading.ts';

/**
 * Reads the pages of one endpoint for one extractor: by the mappings of all engines that are
 * possible, until one finds its series. That one is the endpoint's engine until it finds none.
 */
export class EngineReader {
  readonly #mappings: (endpoint: Endpoint) => readonly EngineMapping[];
  readonly #loadOptional: boolean;
  #readers: readonly PageReader[] = [];
  #workBytes = 0;

  /** With `loadOptional`, a page may have other values than those of the load alone. */
  constructor(
    mappings: (endpoint: Endpoint) => readonly EngineMapping[],
    { loadOptional = false }: { readonly loadOptional?: boolean } = {},
  ) {
    this.#mappings = mappings;
    this.#loadOptional = loadOptional;
  }

  /** What the last page took beyond its own length, in bytes searched. */
  get workBytes(): number {
    return this.#workBytes;
  }

  /** Has the next page tried with all engines again. */
  forget(): void {
    this.#readers = [];
  }

  read(page: Buffer, endpoint: Endpoint): PageReading | PageRefusal | undefined {
    this.#workBytes = 0;
    if (this.#readers.length === 0) {
      const options = { loadOptional: this.#loadOptional, rank: dataParallelRank(endpoint) };
      this.#readers = this.#mappings(endpoint).map((mapping) => new PageReader(mapping, options));
    }
    for (const reader of this.#readers) {
      const before = reader.workBytes;
      const reading = reader.read(page);
      this.#workBytes += reader.workBytes - before;
      if (reading === undefined) continue;
      if (this.#readers.length > 1) this.#readers = [reader];
      return reading;
    }
    // Another engine may run at this address now.
    this.forget();
    return undefined;
  }
}
