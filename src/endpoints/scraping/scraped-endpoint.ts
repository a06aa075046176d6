import { dataParallelRank } from '../../framework/data-parallel-rank.ts';
import type { Endpoint, EndpointMetrics } from '../../framework/endpoint.ts';
import type { DataSourceHost } from '../../framework/plugin.ts';
import type { Millis } from '../../framework/runtime.ts';
import { type ExtractorConfig, mappingsFor, mappingsOf } from './core-metrics-extractor.ts';
import { type ReadingSink, ReadingWriter, sharedSink } from './endpoint-readings.ts';
import { EngineReader } from './page/engine-reader.ts';
import { joinReadings, type PageReading, type PageRefusal } from './page/reading.ts';
import { type ScrapeErrors, type ScrapeFailure, scrapeErrorsOf } from './scrape-errors.ts';

/** The beginning of a page that a log line shows. */
const BEGINNING_BYTES = 40;

/** Why an answer is of no use, with a sentence for a person. */
export type UselessAnswer = readonly [ScrapeFailure, string];

/** How the pages of a source are read. */
export interface ReadingConfig {
  /** Undefined: the extractor of the pool. */
  readonly extractors?: readonly ExtractorConfig[] | undefined;
  /** Where several sources find the same value, that of the lowest order counts. */
  readonly order?: number | undefined;
}

/** What is read of one endpoint in the pages of its server. */
export class ScrapedEndpoint {
  readonly #host: DataSourceHost;
  readonly #errors: ScrapeErrors;
  #endpoint: Endpoint;
  /** One for each extractor. */
  readonly #readers: readonly EngineReader[];
  readonly #sink: ReadingSink;
  readonly #isOneOfSeveral: boolean;
  #failures = 0;
  #hasSucceeded = false;
  #workBytes = 0;
  #stopped = false;

  constructor(endpoint: Endpoint, { extractors, order }: ReadingConfig, host: DataSourceHost) {
    this.#host = host;
    this.#errors = scrapeErrorsOf(host.pool);
    this.#endpoint = endpoint;
    this.#readers = readersOf(extractors, host);
    this.#isOneOfSeveral = extractors !== undefined;
    this.#sink =
      extractors === undefined
        ? new ReadingWriter(host.pool, endpoint.id)
        : sharedSink(host.pool, endpoint.id, order);
  }

  /** The number of failures since the last success. */
  get failures(): number {
    return this.#failures;
  }

  /** What reading the last page took beyond its own length, in bytes searched. */
  get workBytes(): number {
    return this.#workBytes;
  }

  stop(): void {
    this.#stopped = true;
    this.#sink.leave();
    this.#errors.stopped(this, this.#endpoint.id);
  }

  /** Takes the endpoint's new labels, which may name another engine. */
  relabel(endpoint: Endpoint): void {
    this.#endpoint = endpoint;
    for (const reader of this.#readers) reader.forget();
  }

  /** Returns the load that the endpoint has now; undefined where none is known. */
  take(page: Buffer, url: URL, sampledAt: Millis): EndpointMetrics | undefined {
    const reading = this.#read(page);
    if (reading === undefined) {
      const found = `${url.href} has no series of ${this.#wanted}; it ${beginningOf(page)}`;
      this.failed(['no-series', found]);
      return undefined;
    }
    if ('refused' in reading) {
      this.failed(['bad-value', `${url.href} ${reading.refused}`]);
      return undefined;
    }
    const metrics = this.#sink.take({ reading, sampledAt });
    // An observer may have removed the endpoint.
    if (!this.#stopped) this.#succeeded();
    return metrics;
  }

  failed([failure, reason]: UselessAnswer): void {
    this.#failures += 1;
    this.#sink.failed();
    this.#errors.failed(this, {
      endpoint: this.#endpoint,
      failure,
      reason,
      // Where there are several, another one may have the load.
      ...(this.#isOneOfSeveral && { source: this.#host.name }),
      inSuccession: this.#failures,
      at: this.#host.runtime.clock.wallTime(),
    });
  }

  #succeeded(): void {
    const isNews = this.#failures > 0 || !this.#hasSucceeded;
    this.#failures = 0;
    this.#hasSucceeded = true;
    if (!isNews) return;
    this.#errors.succeeded(this, this.#endpoint.id, this.#host.runtime.clock.wallTime());
  }

  get #wanted(): string {
    const rank = dataParallelRank(this.#endpoint);
    return rank === undefined
      ? 'a known engine'
      : `data-parallel rank ${rank} (label engine or dp_rank) of a known engine`;
  }

  #read(page: Buffer): PageReading | PageRefusal | undefined {
    this.#workBytes = 0;
    const read: PageReading[] = [];
    for (const reader of this.#readers) {
      const reading = reader.read(page, this.#endpoint);
      this.#workBytes += reader.workBytes;
      if (reading === undefined) continue;
      if ('refused' in reading) return reading;
      read.push(reading);
    }
    if (read.length < 2) return read[0];
    // As in the reference, what a later extractor finds replaces what one before it found.
    const dated = read.toReversed().map((reading) => ({ reading, sampledAt: 0 }));
    return joinReadings(dated)?.reading;
  }
}

function readersOf(
  extractors: readonly ExtractorConfig[] | undefined,
  { pool }: DataSourceHost,
): readonly EngineReader[] {
  if (extractors === undefined)
    return [new EngineReader((endpoint) => mappingsFor(pool, endpoint))];
  // One source may have the load, and another one other values.
  const options = { loadOptional: true };
  return extractors.map(
    (each) => new EngineReader((endpoint) => mappingsOf(each, endpoint), options),
  );
}

/** What a person needs to see that a page is no metrics page. */
function beginningOf(page: Buffer): string {
  if (page.length === 0) return 'is empty';
  if (page[0] === 0x1f && page[1] === 0x8b) return 'is compressed, which was not asked for';
  return `begins with ${JSON.stringify(page.toString('latin1', 0, BEGINNING_BYTES))}`;
}
