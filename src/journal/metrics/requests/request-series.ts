import type { Registry } from 'prom-client';
import type { RequestLabels } from '../../../framework/request.ts';
import type { Family, MetricLabels } from '../page/family.ts';
import type { KeptNames } from '../page/kept-names.ts';
import { createNameCap, OTHER } from '../page/name-cap.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell, Tally } from '../page/tally.ts';
import { createRequestFamilies, type RequestFamilies } from './request-families.ts';

/** Values of labels that clients choose, as many as in the reference; the rest are `other`. */
const NAMES_MAX = 1000;
export const FAIRNESS_IDS_MAX = 1000;
/** Error codes of requests, at most. */
const CODES_MAX = 8;

interface SeriesKey {
  readonly model: string;
  /** What the model server is asked for: the client's name, unless a rule rewrote it. */
  readonly targetModel: string;
  readonly fairnessId: string;
  readonly priority: number;
}

/** The labels of a request. A rewritten one has the name that the client gave as its model. */
export function seriesKeyOf({ model, rewrite, fairnessId, priority }: RequestLabels): SeriesKey {
  return { model: rewrite?.requestedModel ?? model, targetModel: model, fairnessId, priority };
}

type Tallies = Exclude<
  keyof RequestFamilies,
  'requests' | 'aborted' | 'running' | 'errors' | 'ttftSeconds'
>;

/** The metrics of all requests with the same model, target model, fairness id and priority. */
export interface RequestSeries
  extends Readonly<Record<'requests' | 'aborted' | 'running', Cell>>,
    Readonly<Record<Tallies | 'streamingTtftSeconds' | 'wholeTtftSeconds', Tally>> {
  /** `code` is one of a closed set. */
  error(code: string): Cell;
}

interface Entry {
  readonly series: RequestSeries;
  readonly names: Readonly<Record<'model' | 'target' | 'fairness', string>>;
  /** Takes it off the page. */
  readonly drop: () => void;
  /** The period of the limit in which it was last used. */
  usedIn: number;
}

export interface RequestSeriesTable {
  /** `newNames: false` counts new names as `other`: for models that may not exist. */
  of(key: SeriesKey, options?: { readonly newNames: boolean }): RequestSeries;
}

interface RequestSeriesOptions {
  readonly onFolded: () => void;
  /** Default: as many as in the reference; 0 counts all as `other`. */
  readonly fairnessIdsMax?: number | undefined;
  /** Shows the reference's former names, too. */
  readonly deprecated?: boolean | undefined;
  readonly keptModels: KeptNames;
}

const keyOf = (...labels: readonly string[]): string => labels.join('\n');
const OVERFLOW_KEY = keyOf(OTHER, OTHER, OTHER, OTHER);

/**
 * Makes a request's series on first use and finds it with one string and one look-up later. Without
 * room for another, `onFolded` is called and requests share the one whose labels are all `other`;
 * those for a kept model share one with its name.
 */
export function createRequestSeries(
  registry: Registry,
  limit: SeriesLimit,
  options: RequestSeriesOptions,
): RequestSeriesTable {
  const families = createRequestFamilies(registry, options.deprecated);
  const table = new SeriesTable(families, limit, options);
  limit.register(table);
  return table;
}

class SeriesTable implements RequestSeriesTable {
  readonly #families: RequestFamilies;
  readonly #limit: SeriesLimit;
  readonly #onFolded: () => void;
  readonly #models: ReturnType<typeof createNameCap>;
  readonly #keptModels: KeptNames;
  readonly #fairnessIds: ReturnType<typeof createNameCap>;
  readonly #table = new Map<string, Entry>();
  /** The lines that one series has on the page. */
  readonly #lines: number;

  constructor(
    families: RequestFamilies,
    limit: SeriesLimit,
    { onFolded, fairnessIdsMax = FAIRNESS_IDS_MAX, keptModels }: RequestSeriesOptions,
  ) {
    this.#models = createNameCap(NAMES_MAX, keptModels);
    this.#keptModels = keptModels;
    this.#fairnessIds = createNameCap(fairnessIdsMax);
    this.#families = families;
    this.#limit = limit;
    this.#onFolded = onFolded;
    this.#lines = linesOf(families);
  }

  of(
    { model, targetModel, fairnessId, priority }: SeriesKey,
    { newNames }: { readonly newNames: boolean } = { newNames: true },
  ): RequestSeries {
    const admit = newNames ? 'admit' : 'known';
    const name = this.#models[admit](model);
    const target = targetModel === model ? name : this.#models[admit](targetModel);
    return this.#find(name, target, this.#fairnessIds[admit](fairnessId), String(priority));
  }

  /** See `SeriesHolder.drop`. A series with requests that have not ended stays. */
  drop(period: number, most: number): number {
    let dropped = 0;
    for (const [key, { usedIn, series, drop }] of this.#table) {
      if (dropped === most) break;
      if (usedIn >= period || series.running.value > 0 || key === OVERFLOW_KEY) continue;
      drop();
      this.#table.delete(key);
      this.#limit.free(this.#lines);
      dropped += 1;
    }
    if (dropped > 0) this.#retainNames();
    return dropped;
  }

  #retainNames(): void {
    const left = [...this.#table.values()].map(({ names }) => names);
    this.#models.retain(left.flatMap(({ model, target }) => [model, target]));
    this.#fairnessIds.retain(left.map(({ fairness }) => fairness));
  }

  #keptOrOther(name: string): string {
    return this.#keptModels.has(name) ? name : OTHER;
  }

  #find(model: string, target: string, fairness: string, priority: string): RequestSeries {
    const key = keyOf(model, target, fairness, priority);
    const found = this.#table.get(key);
    if (found !== undefined) {
      found.usedIn = this.#limit.period;
      return found.series;
    }
    if (key !== OVERFLOW_KEY && !this.#limit.take(this.#lines)) {
      if (priority !== OTHER) {
        this.#onFolded();
        return this.#find(this.#keptOrOther(model), this.#keptOrOther(target), OTHER, OTHER);
      }
      // Models that are kept have one beyond the limit: there are as many as in the rules.
      this.#limit.free(-this.#lines);
    }
    const labels = {
      model_name: model,
      target_model_name: target,
      fairness_id: fairness,
      priority,
    };
    const names = { model, target, fairness };
    const entry = { ...seriesOf(this.#families, labels), names, usedIn: this.#limit.period };
    this.#table.set(key, entry);
    return entry.series;
  }
}

/** The most lines of one series. */
function linesOf(families: RequestFamilies): number {
  const all = Object.values(families).reduce((sum, family) => sum + family.lines, 0);
  // Two for streams and whole answers, and one for each code.
  return all + families.ttftSeconds.lines + (CODES_MAX - 1) * families.errors.lines;
}

/** The children of one set of labels. Each of them is made by `child`, and `drop` takes all away. */
function seriesOf(families: RequestFamilies, labels: MetricLabels): Pick<Entry, 'series' | 'drop'> {
  const drops: (() => void)[] = [];
  function child<Child>(family: Family<Child>, more?: MetricLabels): Child {
    const made = family.child({ ...labels, ...more });
    drops.push(() => family.drop(made));
    return made;
  }
  const errors = new Map<string, Cell>();
  const series: RequestSeries = {
    requests: child(families.requests),
    aborted: child(families.aborted),
    running: child(families.running),
    durationSeconds: child(families.durationSeconds),
    requestBytes: child(families.requestBytes),
    responseBytes: child(families.responseBytes),
    inputTokens: child(families.inputTokens),
    outputTokens: child(families.outputTokens),
    cachedTokens: child(families.cachedTokens),
    streamingTtftSeconds: child(families.ttftSeconds, { streaming: 'true' }),
    wholeTtftSeconds: child(families.ttftSeconds, { streaming: 'false' }),
    ntpotSeconds: child(families.ntpotSeconds),
    tpotSeconds: child(families.tpotSeconds),
    itlSeconds: child(families.itlSeconds),
    error(code) {
      let cell = errors.get(code);
      if (cell === undefined) {
        cell = child(families.errors, { error_code: code });
        errors.set(code, cell);
      }
      return cell;
    },
  };
  return {
    series,
    drop: () => {
      for (const each of drops) each();
    },
  };
}
