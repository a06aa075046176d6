import type { CacheConfig, LoraState } from '../../../framework/endpoint-attributes.ts';
import type { Millis } from '../../../framework/runtime.ts';

/** The values of a page; undefined where the page lacks them. */
export interface PageReading {
  readonly waiting: number | undefined;
  readonly running: number | undefined;
  /** The used fraction of the KV cache, 0 to 1. */
  readonly kvUsage: number | undefined;
  /** Engines that the load is of; undefined where the page has none. */
  readonly engines: number | undefined;
  /** The same object as in the last reading while it is unchanged; so are `cache` and `custom`. */
  readonly lora: LoraState | undefined;
  readonly cache: CacheConfig | undefined;
  /** By attribute. */
  readonly custom: ReadonlyMap<string, number>;
  /** Seconds since the epoch, by the server's clock. */
  readonly startedAtS: number | undefined;
}

/** The reading of a page without any value, for sources that look for a few of them alone. */
export const EMPTY_READING: PageReading = {
  waiting: undefined,
  running: undefined,
  kvUsage: undefined,
  engines: undefined,
  lora: undefined,
  cache: undefined,
  custom: new Map(),
  startedAtS: undefined,
};

/** A page that is not used: it has a value that its metric cannot have. */
export interface PageRefusal {
  /** The rest of a sentence that begins with the page's URL. */
  readonly refused: string;
}

export function hasLoad({ waiting, running, kvUsage }: PageReading): boolean {
  return waiting !== undefined || running !== undefined || kvUsage !== undefined;
}

/** A reading, and when the scrape was sent that brought it. */
export interface DatedReading {
  readonly reading: PageReading;
  readonly sampledAt: Millis;
}

/**
 * Puts readings of one endpoint together: of each value that several have, the first one counts.
 * The load is as old as the oldest of its values.
 */
export function joinReadings(readings: readonly DatedReading[]): DatedReading | undefined {
  const [first, ...others] = readings;
  if (first === undefined || others.length === 0) return first;
  const having = (value: (reading: PageReading) => unknown): DatedReading | undefined =>
    readings.find(({ reading }) => value(reading) !== undefined);
  const waiting = having((reading) => reading.waiting);
  const running = having((reading) => reading.running);
  const kvUsage = having((reading) => reading.kvUsage);
  const loads = [waiting, running, kvUsage].filter((each) => each !== undefined);
  return {
    reading: {
      waiting: waiting?.reading.waiting,
      running: running?.reading.running,
      kvUsage: kvUsage?.reading.kvUsage,
      engines: having((reading) => reading.engines)?.reading.engines,
      lora: having((reading) => reading.lora)?.reading.lora,
      cache: having((reading) => reading.cache)?.reading.cache,
      custom: joinedValues(readings.map(({ reading }) => reading.custom)),
      startedAtS: having((reading) => reading.startedAtS)?.reading.startedAtS,
    },
    sampledAt: Math.min(...(loads.length > 0 ? loads : readings).map((each) => each.sampledAt)),
  };
}

function joinedValues(maps: readonly ReadonlyMap<string, number>[]): ReadonlyMap<string, number> {
  const [only = maps[0], ...others] = maps.filter(({ size }) => size > 0);
  if (others.length === 0 && only !== undefined) return only;
  return new Map(maps.toReversed().flatMap((map) => [...map]));
}

/** Whether two sets of values are the same. */
export function sameValues(
  one: ReadonlyMap<string, number>,
  other: ReadonlyMap<string, number>,
): boolean {
  return one.size === other.size && [...one].every(([key, is]) => other.get(key) === is);
}
