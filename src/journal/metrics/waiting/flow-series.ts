import type { Registry } from 'prom-client';
import type { InferenceRequest } from '../../../framework/request.ts';
import { SCHEDULER_SECONDS, WAITING_SECONDS } from '../page/bucket-bounds.ts';
import {
  counters,
  eppPage,
  type Family,
  gauges,
  histograms,
  type MetricLabels,
} from '../page/family.ts';
import type { KeptNames } from '../page/kept-names.ts';
import { createNameCap, OTHER } from '../page/name-cap.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell, Tally } from '../page/tally.ts';

/** How a request left the queue, by the reference's names. */
export type FlowOutcome =
  | 'Dispatched'
  | 'RejectedCapacity'
  | 'RejectedNoEndpoints'
  | 'EvictedTTL'
  | 'EvictedNoEndpoints'
  | 'EvictedContextCancelled'
  | 'NotYetFinalized';

/** Values of a label that clients choose; the rest are `other`. */
const NAMES_MAX = 1000;
/** Outcomes that one flow usually has. */
const USUAL_OUTCOMES = 2;
const FLOW = ['fairness_id', 'priority', 'inference_pool'];
const MODELS = ['model_name', 'target_model_name'];

interface FlowFamilies {
  readonly queueSeconds: Family<Tally>;
  readonly enqueueSeconds: Family<Tally>;
  readonly queueSize: Family<Cell>;
  readonly queueBytes: Family<Cell>;
  readonly requests: Family<Cell>;
}

/** The series of one flow: fairness id, priority and models. */
export interface FlowSeries {
  readonly size: Cell;
  readonly bytes: Cell;
  queued(outcome: FlowOutcome): Tally;
  added(outcome: FlowOutcome): Tally;
}

interface Entry {
  readonly series: FlowSeries;
  readonly names: Readonly<Record<'model' | 'target' | 'fairness', string>>;
  readonly drop: () => void;
  /** The period of the limit in which it was last used. */
  usedIn: number;
}

function createFamilies(registry: Registry): FlowFamilies {
  const page = eppPage(registry);
  const waited = 'Seconds from when a request came to flow control until it left, by how it left.';
  const added = 'Seconds that it took to add a request to the queue of flow control.';
  return {
    queueSeconds: page(
      histograms(WAITING_SECONDS),
      'flow_control_request_queue_duration_seconds',
      waited,
      [...FLOW, 'outcome', ...MODELS],
    ),
    enqueueSeconds: page(
      histograms(SCHEDULER_SECONDS),
      'flow_control_request_enqueue_duration_seconds',
      added,
      ['fairness_id', 'priority', 'outcome'],
    ),
    queueSize: page(
      gauges(),
      'flow_control_queue_size',
      'Requests that wait in flow control now.',
      [...FLOW, ...MODELS],
    ),
    queueBytes: page(
      gauges(),
      'flow_control_queue_bytes',
      'Bytes of the bodies of requests that wait in flow control now.',
      [...FLOW, ...MODELS],
    ),
    requests: page(
      counters(),
      'flow_control_requests_total',
      'Requests that came to flow control, by how they left it.',
      ['outcome', 'priority', 'inference_pool'],
    ),
  };
}

interface FlowPage {
  readonly registry: Registry;
  readonly seriesLimit: SeriesLimit;
  readonly keptModels: KeptNames;
}

/** Finds the series of a request; makes them on first use, and drops those that nothing uses. */
export class FlowSeriesTable {
  readonly #families: FlowFamilies;
  readonly #limit: SeriesLimit;
  readonly #poolName: string;
  readonly #models: ReturnType<typeof createNameCap>;
  readonly #keptModels: KeptNames;
  readonly #fairnessIds = createNameCap(NAMES_MAX);
  readonly #table = new Map<string, Entry>();
  readonly #outcomes = new Map<string, Cell>();
  /** The lines that one series has on the page. */
  readonly #lines: number;

  constructor({ registry, seriesLimit, keptModels }: FlowPage, poolName: string) {
    const families = createFamilies(registry);
    this.#models = createNameCap(NAMES_MAX, keptModels);
    this.#keptModels = keptModels;
    this.#families = families;
    this.#limit = seriesLimit;
    this.#poolName = poolName;
    const times = families.queueSeconds.lines + families.enqueueSeconds.lines;
    this.#lines = families.queueSize.lines + families.queueBytes.lines + USUAL_OUTCOMES * times;
    seriesLimit.register(this);
  }

  of({ model, rewrite, fairnessId, priority }: InferenceRequest): FlowSeries {
    const name = this.#models.admit(rewrite?.requestedModel ?? model);
    const target = this.#models.admit(model);
    return this.#find(name, target, this.#fairnessIds.admit(fairnessId), priority);
  }

  count(outcome: FlowOutcome, priority: number): void {
    const key = `${outcome}\n${priority}`;
    let cell = this.#outcomes.get(key);
    if (cell === undefined) {
      const labels = { outcome, priority: String(priority), inference_pool: this.#poolName };
      cell = this.#families.requests.child(labels);
      this.#outcomes.set(key, cell);
    }
    cell.value += 1;
  }

  /** See `SeriesHolder.drop`. A series with requests that wait stays. */
  drop(period: number, most: number): number {
    let dropped = 0;
    for (const [key, { usedIn, series, drop }] of this.#table) {
      if (dropped === most) break;
      if (usedIn >= period || series.size.value > 0) continue;
      drop();
      this.#table.delete(key);
      this.#limit.free(this.#lines);
      dropped += 1;
    }
    const left = [...this.#table.values()].map(({ names }) => names);
    this.#models.retain(left.flatMap(({ model, target }) => [model, target]));
    this.#fairnessIds.retain(left.map(({ fairness }) => fairness));
    return dropped;
  }

  #keptOrOther(name: string): string {
    return this.#keptModels.has(name) ? name : OTHER;
  }

  #find(model: string, target: string, fairness: string, priority: number): FlowSeries {
    const key = [model, target, fairness, priority].join('\n');
    const found = this.#table.get(key);
    if (found !== undefined) {
      found.usedIn = this.#limit.period;
      return found.series;
    }
    const [kept, keptTarget] = [this.#keptOrOther(model), this.#keptOrOther(target)];
    const isShared = model === kept && target === keptTarget && fairness === OTHER;
    const hasRoom = this.#limit.take(this.#lines);
    if (!hasRoom && !isShared) return this.#find(kept, keptTarget, OTHER, priority);
    if (!hasRoom) this.#limit.free(-this.#lines);
    const labels = {
      model_name: model,
      target_model_name: target,
      fairness_id: fairness,
      priority: String(priority),
      inference_pool: this.#poolName,
    };
    const names = { model, target, fairness };
    const entry = { ...seriesOf(this.#families, labels), names, usedIn: this.#limit.period };
    this.#table.set(key, entry);
    return entry.series;
  }
}

function seriesOf(families: FlowFamilies, labels: MetricLabels): Pick<Entry, 'series' | 'drop'> {
  const queued = new Map<FlowOutcome, Tally>();
  const added = new Map<FlowOutcome, Tally>();
  const size = families.queueSize.child(labels);
  const bytes = families.queueBytes.child(labels);
  const series: FlowSeries = {
    size,
    bytes,
    queued: (outcome) => tallyOf(queued, families.queueSeconds, { ...labels, outcome }, outcome),
    added: (outcome) => tallyOf(added, families.enqueueSeconds, { ...labels, outcome }, outcome),
  };
  const drop = (): void => {
    families.queueSize.drop(size);
    families.queueBytes.drop(bytes);
    for (const tally of queued.values()) families.queueSeconds.drop(tally);
    for (const tally of added.values()) families.enqueueSeconds.drop(tally);
  };
  return { series, drop };
}

function tallyOf(
  known: Map<FlowOutcome, Tally>,
  family: Family<Tally>,
  labels: MetricLabels,
  outcome: FlowOutcome,
): Tally {
  let tally = known.get(outcome);
  if (tally === undefined) {
    tally = family.child(labels);
    known.set(outcome, tally);
  }
  return tally;
}
