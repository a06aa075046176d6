import {
  type CacheConfig,
  CUSTOM_METRICS,
  ENGINE_COUNT_MAX,
  type LoraState,
} from '../../../framework/endpoint-attributes.ts';
import { cacheReader } from './cache-reader.ts';
import type { EngineMapping } from './engine-metrics.ts';
import { isWithin, LoadMetric } from './load-metric.ts';
import { loraReader } from './lora-reader.ts';
import {
  type FinderOf,
  OPTIONAL_EVERY_PAGES,
  type ScanWork,
  SeriesFinder,
} from './prometheus-scan.ts';
import { type PageReading, type PageRefusal, sameValues } from './reading.ts';
import { ENGINE_LABELS, parseSpec } from './series-spec.ts';

/** Far more than wait at any server; one that reports more is faulty. */
const WAITING_MAX = 1_000_000;
/** Triton's mapping, which is the reference's, counts executions since the server's start. */
const RUNNING_MAX = 1e12;
/** Engines that count pages in several places report a little above 1, which counts as 1. */
const KV_USAGE_MAX = 1.5;
/** Seconds since the epoch, in the year 5138. */
const STARTED_AT_MAX_S = 1e11;

/** The name that every Prometheus client library uses. */
const START_TIME = 'process_start_time_seconds';

export interface PageReaderOptions {
  /** A page may have other values than those of the load alone. */
  readonly loadOptional?: boolean;
  /** The data-parallel rank that is read; undefined: all of them. */
  readonly rank?: number | undefined;
}

/** Reads the pages of one endpoint; faster from the second on, as positions are remembered. */
export class PageReader {
  readonly #loadOptional: boolean;
  readonly #work: ScanWork = { bytes: 0 };
  readonly #waiting: LoadMetric;
  readonly #running: LoadMetric;
  readonly #kvUsage: LoadMetric;
  /** The sum of all. */
  readonly #kvUsages: LoadMetric;
  readonly #lora: (page: Buffer) => LoraState | undefined;
  readonly #cache: (page: Buffer) => CacheConfig | undefined;
  readonly #custom: (page: Buffer) => ReadonlyMap<string, number>;
  readonly #startedAt: SeriesFinder;

  constructor(mapping: EngineMapping, { loadOptional = false, rank }: PageReaderOptions = {}) {
    this.#loadOptional = loadOptional;
    const ofRank = rank === undefined ? {} : { rank: { number: rank, orNone: false } };
    const ofRankOrAll = rank === undefined ? {} : { rank: { number: rank, orNone: true } };
    // vLLM says of adapters and the process what is so of all ranks.
    const finderOf: FinderOf = (spec, everyPages) =>
      new SeriesFinder({ ...parseSpec(spec), ...ofRankOrAll }, this.#work, everyPages);
    const finders = (specs: readonly string[]): readonly SeriesFinder[] =>
      specs.map((spec) => new SeriesFinder({ ...parseSpec(spec), ...ofRank }, this.#work));
    this.#waiting = new LoadMetric(finders(mapping.waiting), add, WAITING_MAX);
    this.#running = new LoadMetric(finders(mapping.running), add, RUNNING_MAX);
    // Both find the same lines: one that has been found is not searched for again.
    const kvUsage = finders(mapping.kvUsage);
    this.#kvUsage = new LoadMetric(kvUsage, Math.max, KV_USAGE_MAX);
    this.#kvUsages = new LoadMetric(kvUsage, add, ENGINE_COUNT_MAX * KV_USAGE_MAX);
    this.#lora = loraReader(mapping, finderOf);
    this.#cache = cacheReader(mapping, finderOf);
    this.#custom = customReader(mapping, finderOf);
    this.#startedAt = finderOf(START_TIME, OPTIONAL_EVERY_PAGES);
  }

  /** What all pages so far have taken. */
  get workBytes(): number {
    return this.#work.bytes;
  }

  /**
   * Undefined for a page without load: the endpoint's load must stay unknown, not become 0; and
   * with `loadOptional` for one without any value that is looked for. A page with a load that
   * cannot be is refused as a whole. Other values that cannot be are left out.
   */
  read(given: Buffer): PageReading | PageRefusal | undefined {
    const page = given[0] === BYTE_ORDER_MARK[0] ? withoutMark(given) : given;
    const waiting = this.#waiting.read(page);
    const running = this.#running.read(page);
    const kvUsage = this.#kvUsage.read(page);
    const isLoad = waiting !== undefined || running !== undefined || kvUsage !== undefined;
    if (!isLoad && !this.#loadOptional) return undefined;
    const refused =
      this.#waiting.problem(waiting) ??
      this.#running.problem(running) ??
      this.#kvUsage.problem(kvUsage);
    if (refused !== undefined) return { refused };
    const lora = this.#lora(page);
    const cache = this.#cache(page);
    const custom = this.#custom(page);
    const isOther = lora !== undefined || cache !== undefined || custom.size > 0;
    if (!isLoad && !isOther) return undefined;
    // The youngest of several processes counts, so that any restart shows.
    const started = this.#startedAt.combined(page, Math.max);
    const startedAtS = isWithin(started, STARTED_AT_MAX_S) ? started : undefined;
    // A page may be of several data-parallel engines: then its queues are the sums of theirs.
    const counted = running === undefined ? this.#waiting : this.#running;
    const engines = isLoad
      ? Math.min(ENGINE_COUNT_MAX, counted.distinct(page, ENGINE_LABELS))
      : undefined;
    const kvShare = this.#kvShare(page, kvUsage, engines);
    return { waiting, running, kvUsage: kvShare, engines, lora, cache, custom, startedAtS };
  }

  /** The share of the memory of all engines; without engines that are known, the fullest counts. */
  #kvShare(page: Buffer, fullest: number | undefined, engines = 1): number | undefined {
    if (fullest === undefined || engines === 1) return fullest && Math.min(1, fullest);
    return Math.min(1, (this.#kvUsages.read(page) ?? 0) / engines);
  }
}

/** Some exporters begin a page with it, which would hide the series of its first line. */
const BYTE_ORDER_MARK = Buffer.from('\u{feff}');

function withoutMark(page: Buffer): Buffer {
  const { length } = BYTE_ORDER_MARK;
  return page.subarray(0, length).equals(BYTE_ORDER_MARK) ? page.subarray(length) : page;
}

function add(a: number, b: number): number {
  return a + b;
}

function customReader(
  { custom = [] }: EngineMapping,
  finderOf: FinderOf,
): (page: Buffer) => ReadonlyMap<string, number> {
  if (custom.length === 0) return () => CUSTOM_METRICS.initial;
  const finders = custom.map(({ attribute, series, everyPages }) => ({
    attribute,
    finder: finderOf(series, everyPages),
  }));
  let last = CUSTOM_METRICS.initial;
  return (page) => {
    const read = new Map<string, number>();
    for (const { attribute, finder } of finders) {
      const value = finder.combined(page, Math.max);
      // A summary without observations says NaN: that is as good as no value.
      if (isWithin(value, Number.MAX_VALUE)) read.set(attribute, value);
    }
    if (!sameValues(read, last)) last = read;
    return last;
  };
}
