import type { FlowControl } from '../../../flow/control/flow-control.ts';
import type {
  Dropped,
  QueueDiscipline,
  ReadyGroup,
  Served,
  Waiting,
} from '../../../flow/discipline.ts';
import { RoutingError } from '../../../framework/error.ts';
import type { InferenceRequest } from '../../../framework/request.ts';
import type { FirstBand } from '../../../framework/routing.ts';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import type { PickerMetrics } from '../metrics.ts';
import { SCHEDULER_SECONDS, USUAL_SECONDS } from '../page/bucket-bounds.ts';
import { counters, eppPage, type Family, histograms } from '../page/family.ts';
import type { Cell, Tally } from '../page/tally.ts';
import { showFlowGauges } from './flow-gauges.ts';
import { type FlowOutcome, type FlowSeries, FlowSeriesTable } from './flow-series.ts';

export interface FlowControlMetricsOptions {
  readonly metrics: PickerMetrics;
  readonly poolName: string;
  /** Measures how long the calls take. */
  readonly stopwatch: Pick<Clock, 'now'>;
}

/** Puts meters around flow control. The page has its metrics from the first one on. */
export class FlowControlMetrics {
  readonly #options: FlowControlMetricsOptions;
  #meters: Meters | undefined;
  #control: FlowControl | undefined;

  constructor(options: FlowControlMetricsOptions) {
    this.#options = options;
  }

  readonly wrap = (control: FlowControl): QueueDiscipline => {
    const { poolName, stopwatch, metrics } = this.#options;
    const { registry } = metrics;
    this.#control = control;
    if (this.#meters === undefined) {
      this.#meters = createMeters(metrics, poolName);
      const now = () => stopwatch.now();
      showFlowGauges({ registry, poolName, control: () => this.#control, now });
    }
    return new MeasuredFlowControl(control, this.#meters, stopwatch);
  };
}

interface Meters {
  readonly flows: FlowSeriesTable;
  readonly cycleSeconds: Tally;
  readonly confirmationSeconds: Tally;
  readonly issued: (priority: number) => Cell;
}

function createMeters(metrics: PickerMetrics, inference_pool: string): Meters {
  const { registry } = metrics;
  const page = eppPage(registry);
  const cycle = 'Seconds that one pass of flow control over the waiting requests took.';
  const confirmed = 'Time from an eviction to the end of the request.';
  const issued: Family<Cell> = page(
    counters(),
    'flow_control_revocations_issued_total',
    'Requests in flight that flow control evicted.',
    ['priority', 'inference_pool'],
  );
  const byPriority = new Map<number, Cell>();
  return {
    flows: new FlowSeriesTable(metrics, inference_pool),
    cycleSeconds: page(
      histograms(SCHEDULER_SECONDS),
      'flow_control_dispatch_cycle_duration_seconds',
      cycle,
      [],
    ).child({}),
    confirmationSeconds: page(
      histograms(USUAL_SECONDS),
      'flow_control_revocation_confirmation_seconds',
      confirmed,
      ['inference_pool'],
    ).child({ inference_pool }),
    issued(priority) {
      const cell =
        byPriority.get(priority) ?? issued.child({ priority: String(priority), inference_pool });
      byPriority.set(priority, cell);
      return cell;
    },
  };
}

class MeasuredFlowControl implements QueueDiscipline {
  readonly #control: FlowControl;
  readonly #meters: Meters;
  readonly #stopwatch: Pick<Clock, 'now'>;
  /** When requests that have not ended yet were evicted, by id. */
  readonly #evictedAt = new Map<string, Millis>();

  constructor(control: FlowControl, meters: Meters, stopwatch: Pick<Clock, 'now'>) {
    this.#control = control;
    this.#meters = meters;
    this.#stopwatch = stopwatch;
  }

  get firstBand(): FirstBand | undefined {
    return this.#control.firstBand;
  }

  get isHoldingBack(): boolean {
    return this.#control.isHoldingBack;
  }

  add(waiting: Waiting, at: Millis): void {
    const startedAt = this.#stopwatch.now();
    const series = this.#meters.flows.of(waiting.request);
    let outcome: FlowOutcome = 'NotYetFinalized';
    try {
      this.#control.add(waiting, at);
      series.size.value += 1;
      series.bytes.value += waiting.bytes;
    } catch (error) {
      const isEmpty = error instanceof RoutingError && error.code === 'no-endpoints';
      outcome = isEmpty ? 'RejectedNoEndpoints' : 'RejectedCapacity';
      series.queued(outcome).observe(0);
      this.#meters.flows.count(outcome, waiting.request.priority);
      throw error;
    } finally {
      series.added(outcome).observe((this.#stopwatch.now() - startedAt) / 1000);
    }
  }

  remove(waiting: Waiting, at: Millis): void {
    this.#control.remove(waiting);
    this.#left(waiting, 'EvictedContextCancelled', at);
  }

  replaced(): void {
    for (const waiting of this.#control.waiting) this.#leaves(waiting);
    this.#control.replaced();
  }

  *ready(at: Millis): Generator<ReadyGroup> {
    const startedAt = this.#stopwatch.now();
    try {
      yield* this.#control.ready(at);
    } finally {
      this.#meters.cycleSeconds.observe((this.#stopwatch.now() - startedAt) / 1000);
    }
  }

  expired(at: Millis): readonly Dropped[] {
    const dropped = this.#control.expired(at);
    for (const { waiting, error } of dropped) {
      this.#left(waiting, error.code === 'no-endpoints' ? 'EvictedNoEndpoints' : 'EvictedTTL', at);
    }
    return dropped;
  }

  placed(waiting: Waiting, at: Millis): void {
    this.#control.placed(waiting, at);
    this.#left(waiting, 'Dispatched', at);
  }

  ended(request: InferenceRequest, served: Served, at: Millis): void {
    const evictedAt = this.#evictedAt.get(request.id);
    if (evictedAt !== undefined) {
      this.#evictedAt.delete(request.id);
      this.#meters.confirmationSeconds.observe((at - evictedAt) / 1000);
    }
    this.#control.ended(request, served, at);
  }

  placedElsewhere(request: InferenceRequest, at: Millis): void {
    this.#control.placedElsewhere(request, at);
  }

  endedElsewhere(request: InferenceRequest, served: Served, at: Millis): void {
    this.#control.endedElsewhere(request, served, at);
  }

  evict(at: Millis): readonly InferenceRequest[] {
    const victims = this.#control.evict(at);
    for (const { id, priority } of victims) {
      this.#evictedAt.set(id, at);
      this.#meters.issued(priority).value += 1;
    }
    return victims;
  }

  #left(waiting: Waiting, outcome: FlowOutcome, at: Millis): void {
    const { request, since } = waiting;
    this.#leaves(waiting)
      .queued(outcome)
      .observe((at - since) / 1000);
    this.#meters.flows.count(outcome, request.priority);
  }

  /** The request does not wait here any more. */
  #leaves({ request, bytes }: Waiting): FlowSeries {
    const series = this.#meters.flows.of(request);
    series.size.value = Math.max(0, series.size.value - 1);
    series.bytes.value = Math.max(0, series.bytes.value - bytes);
    return series;
  }
}
