import type { Registry } from 'prom-client';
import { createNameCap, type Labels, OTHER } from './family.ts';
import { createRequestFamilies, type RequestFamilies } from './request-families.ts';
import type { Cell, Tally } from './tally.ts';

/** Values of a label that clients choose, as many as in the reference; the rest are `other`. */
const NAMES_MAX = 1000;
/** A series takes some 300 lines of the page: beyond this many, all others share one. */
const SERIES_MAX = 2000;

interface SeriesKey {
  readonly model: string;
  /** What the model server is asked for: the client's name, unless a rule rewrote it. */
  readonly targetModel: string;
  readonly fairnessId: string;
  readonly priority: number;
}

type Tallies = Exclude<keyof RequestFamilies, 'requests' | 'running' | 'errors' | 'ttftSeconds'>;

/** The metrics of all requests with the same model, target model, fairness id and priority. */
export interface RequestSeries
  extends Readonly<Record<'requests' | 'running', Cell>>,
    Readonly<Record<Tallies | 'streamingTtftSeconds' | 'wholeTtftSeconds', Tally>> {
  /** `code` is one of a closed set. */
  error(code: string): Cell;
}

export interface RequestSeriesTable {
  /** `newNames: false` counts new names as `other`: for models that may not exist. */
  of(key: SeriesKey, options?: { readonly newNames: boolean }): RequestSeries;
}

const keyOf = (...labels: readonly string[]): string => labels.join('\n');
const OVERFLOW_KEY = keyOf(OTHER, OTHER, OTHER, OTHER);

/** Makes a request's series on first use and finds it with one string and one look-up later. */
export function createRequestSeries(registry: Registry): RequestSeriesTable {
  const families = createRequestFamilies(registry);
  const models = createNameCap(NAMES_MAX);
  const fairnessIds = createNameCap(NAMES_MAX);
  const table = new Map<string, RequestSeries>();

  function find(model: string, target: string, fairness: string, priority: string): RequestSeries {
    const key = keyOf(model, target, fairness, priority);
    const found = table.get(key);
    if (found !== undefined) return found;
    if (table.size >= SERIES_MAX && key !== OVERFLOW_KEY) return find(OTHER, OTHER, OTHER, OTHER);
    const names = { model_name: model, target_model_name: target, fairness_id: fairness };
    const series = seriesOf(families, { ...names, priority });
    table.set(key, series);
    return series;
  }

  return {
    of({ model, targetModel, fairnessId, priority }, { newNames } = { newNames: true }) {
      const admit = newNames ? 'admit' : 'known';
      const name = models[admit](model);
      const target = targetModel === model ? name : models[admit](targetModel);
      return find(name, target, fairnessIds[admit](fairnessId), String(priority));
    },
  };
}

function seriesOf(families: RequestFamilies, labels: Labels): RequestSeries {
  const errors = new Map<string, Cell>();
  return {
    requests: families.requests.child(labels),
    running: families.running.child(labels),
    durationSeconds: families.durationSeconds.child(labels),
    requestBytes: families.requestBytes.child(labels),
    responseBytes: families.responseBytes.child(labels),
    inputTokens: families.inputTokens.child(labels),
    outputTokens: families.outputTokens.child(labels),
    cachedTokens: families.cachedTokens.child(labels),
    streamingTtftSeconds: families.ttftSeconds.child({ ...labels, streaming: 'true' }),
    wholeTtftSeconds: families.ttftSeconds.child({ ...labels, streaming: 'false' }),
    ntpotSeconds: families.ntpotSeconds.child(labels),
    tpotSeconds: families.tpotSeconds.child(labels),
    error(code) {
      let cell = errors.get(code);
      if (cell === undefined) {
        cell = families.errors.child({ ...labels, error_code: code });
        errors.set(code, cell);
      }
      return cell;
    },
  };
}
