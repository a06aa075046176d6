import { type CacheConfig, CUSTOM_METRICS, type LoraState } from '../../framework/keys.ts';
import type { EngineMapping } from './engine-metrics.ts';
import type { Labels } from './prometheus-labels.ts';
import { type Sample, SeriesFinder, type SeriesSpec } from './prometheus-scan.ts';

/** Longer lists of adapters are cut: a server holds some tens, and memory must stay bounded. */
const ADAPTERS_MAX = 1024;

/** The name that every Prometheus client library uses. */
const START_TIME = 'process_start_time_seconds';

/** The values of a page; undefined where the page lacks them. */
export interface PageReading {
  readonly waiting: number | undefined;
  readonly running: number | undefined;
  /** The used fraction of the KV cache, 0 to 1. */
  readonly kvUsage: number | undefined;
  /** The same object as in the last reading while it is unchanged; so are `cache` and `custom`. */
  readonly lora: LoraState | undefined;
  readonly cache: CacheConfig | undefined;
  /** By attribute. */
  readonly custom: ReadonlyMap<string, number>;
  /** Seconds since the epoch, by the server's clock. */
  readonly startedAtS: number | undefined;
}

/** Reads the pages of one endpoint; faster from the second on, as positions are remembered. */
export class PageReader {
  readonly #waiting: readonly SeriesFinder[];
  readonly #running: readonly SeriesFinder[];
  readonly #kvUsage: readonly SeriesFinder[];
  readonly #lora: (page: Buffer) => LoraState | undefined;
  readonly #cache: (page: Buffer) => CacheConfig | undefined;
  readonly #custom: (page: Buffer) => ReadonlyMap<string, number>;
  readonly #startedAt = finderOf(START_TIME);

  constructor(mapping: EngineMapping) {
    this.#waiting = mapping.waiting.map(finderOf);
    this.#running = mapping.running.map(finderOf);
    this.#kvUsage = mapping.kvUsage.map(finderOf);
    this.#lora = loraReader(mapping);
    this.#cache = cacheReader(mapping);
    this.#custom = customReader(mapping);
  }

  /** Undefined for a page without load: the endpoint's load must stay unknown, not become 0. */
  read(page: Buffer): PageReading | undefined {
    // A page may be of several data-parallel engines: queues add up, the fullest cache counts.
    const waiting = firstOf(page, this.#waiting, add);
    const running = firstOf(page, this.#running, add);
    const kvUsage = firstOf(page, this.#kvUsage, Math.max);
    if (waiting === undefined && running === undefined && kvUsage === undefined) return undefined;
    return {
      waiting,
      running,
      kvUsage: kvUsage && Math.min(1, kvUsage),
      lora: this.#lora(page),
      cache: this.#cache(page),
      custom: this.#custom(page),
      // The youngest of several processes counts, so that any restart shows.
      startedAtS: this.#startedAt.combined(page, Math.max),
    };
  }
}

function add(a: number, b: number): number {
  return a + b;
}

function firstOf(
  page: Buffer,
  finders: readonly SeriesFinder[],
  combine: (a: number, b: number) => number,
): number | undefined {
  for (const finder of finders) {
    const value = finder.combined(page, combine);
    if (value !== undefined) return value;
  }
  return undefined;
}

/** Each change of adapters adds a series whose value is its time; the largest value is now. */
function loraReader({ lora }: EngineMapping): (page: Buffer) => LoraState | undefined {
  if (lora === undefined) return () => undefined;
  const finder = finderOf(lora);
  let latest: Sample | undefined;
  let state: LoraState | undefined;
  return (page) => {
    const now = finder.samples(page).reduce<Sample | undefined>(later, undefined);
    if (now === latest) return state;
    latest = now;
    const next = now && loraState(now.labels);
    // A new time without other adapters is no change.
    if (next === undefined || state === undefined || !sameLora(next, state)) state = next;
    return state;
  };
}

function later(best: Sample | undefined, sample: Sample): Sample {
  return best === undefined || sample.value > best.value ? sample : best;
}

function loraState(labels: Labels): LoraState {
  const max = Number(labels.get('max_lora'));
  return {
    running: adapters(labels.get('running_lora_adapters')),
    waiting: adapters(labels.get('waiting_lora_adapters')),
    max: max > 0 ? max : 0,
  };
}

function adapters(list: string | undefined): ReadonlySet<string> {
  const names = (list ?? '').split(',', ADAPTERS_MAX).map((name) => name.trim());
  return new Set(names.filter((name) => name !== ''));
}

function sameLora(a: LoraState, b: LoraState): boolean {
  return a.max === b.max && sameSet(a.running, b.running) && sameSet(a.waiting, b.waiting);
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}

function cacheReader(mapping: EngineMapping): (page: Buffer) => CacheConfig | undefined {
  const sizes = cacheSizesReader(mapping);
  let config: CacheConfig | undefined;
  return (page) => {
    const { blockTokens, blocks } = sizes(page);
    if (!isCount(blockTokens) || !isCount(blocks)) config = undefined;
    else if (config?.blockTokens !== blockTokens || config.blocks !== blocks) {
      config = { blockTokens, blocks };
    }
    return config;
  };
}

function customReader({
  custom = [],
}: EngineMapping): (page: Buffer) => ReadonlyMap<string, number> {
  if (custom.length === 0) return () => CUSTOM_METRICS.initial;
  const finders = custom.map(({ attribute, series }) => ({ attribute, finder: finderOf(series) }));
  let last = CUSTOM_METRICS.initial;
  return (page) => {
    const read = new Map<string, number>();
    for (const { attribute, finder } of finders) {
      const value = finder.combined(page, Math.max);
      if (value !== undefined) read.set(attribute, value);
    }
    const same = read.size === last.size && [...read].every(([key, is]) => last.get(key) === is);
    if (!same) last = read;
    return last;
  };
}

type CacheSizes = Partial<CacheConfig>;

function cacheSizesReader(mapping: EngineMapping): (page: Buffer) => CacheSizes {
  const { cacheInfo, blockTokensLabel = '', blocksLabel = '', blockTokens, blocks } = mapping;
  if (cacheInfo !== undefined) {
    const finder = finderOf(cacheInfo);
    return (page) => {
      const labels = finder.samples(page)[0]?.labels;
      return {
        blockTokens: Number(labels?.get(blockTokensLabel)),
        blocks: Number(labels?.get(blocksLabel)),
      };
    };
  }
  if (blockTokens === undefined || blocks === undefined) return () => ({});
  const sizeFinder = finderOf(blockTokens);
  const countFinder = finderOf(blocks);
  return (page) => {
    const size = sizeFinder.combined(page, Math.max);
    const count = countFinder.combined(page, Math.max);
    return size === undefined || count === undefined ? {} : { blockTokens: size, blocks: count };
  };
}

/** Engines report `None`, zero or infinity before they know the value. */
function isCount(value: number | undefined): value is number {
  return value !== undefined && value > 0 && Number.isFinite(value);
}

function finderOf(spec: string): SeriesFinder {
  return new SeriesFinder(parseSpec(spec));
}

/** Parses `name` or `name{label=value,…}`, the values with or without quotes. */
function parseSpec(text: string): SeriesSpec {
  const brace = text.indexOf('{');
  if (brace < 0) return { name: text, labels: new Map() };
  const labels = new Map<string, string>();
  for (const pair of text.slice(brace + 1, text.lastIndexOf('}')).split(',')) {
    const equals = pair.indexOf('=');
    if (equals < 0) continue;
    const value = pair.slice(equals + 1).trim();
    labels.set(pair.slice(0, equals).trim(), value.replace(/^"(.*)"$/, '$1'));
  }
  return { name: text.slice(0, brace), labels };
}
