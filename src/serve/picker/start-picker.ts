import type { RequestRules } from '../../endpoints/rewrites/request-rules.ts';
import type { FirstBand } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { CaptureRecorder } from '../../journal/capture/capture-recorder.ts';
import { inMicroseconds, startCapture } from '../../journal/capture/start-capture.ts';
import type { DecisionRecorder } from '../../journal/explain/decision-recorder.ts';
import type { Headroom } from '../../journal/headroom/headroom.ts';
import { LatencySubscriber } from '../../journal/metrics/answers/latency-metrics.ts';
import { predictionSubscriber } from '../../journal/metrics/answers/prediction-metrics.ts';
import { disaggregationSubscriber } from '../../journal/metrics/decisions/disaggregation-metrics.ts';
import { filterSubscriber } from '../../journal/metrics/decisions/filter-metrics.ts';
import { countPolls, type PickerMetrics } from '../../journal/metrics/metrics.ts';
import { metricsSubscriber, type SeenTraceOf } from '../../journal/metrics/metrics-subscriber.ts';
import { timedPlugins } from '../../journal/metrics/timed-plugins.ts';
import { FlowControlMetrics } from '../../journal/metrics/waiting/flow-control-metrics.ts';
import type { EjectionChange } from '../../picker/ejection/ejector.ts';
import { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { EndpointPickerOptions } from '../../picker/endpoint-picker-options.ts';
import type { JournalSubscriber } from '../../picker/events/journal.ts';
import { ControlledRouter } from '../../picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { Replica } from '../../replicas/replica.ts';
import type { RealRuntime } from '../../runtime/real-runtime.ts';
import type { Telemetry } from '../../telemetry/start-telemetry.ts';
import { createHeadroom, type ScaledParts } from '../autoscaling/start-autoscaling.ts';
import { LiveCounts } from '../live/live-counts.ts';
import { checkReporters } from '../options/check-io-workers.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import { createReplica } from '../replicas/create-replica.ts';
import type { PromotionControl } from './promotion-control.ts';
import { servingPlan } from './serving-plan.ts';

export interface StartPickerParts {
  /** The seed of all the picker's random numbers. */
  readonly seed: number;
  readonly runtime: RealRuntime;
  readonly rules: RequestRules;
  readonly metrics: PickerMetrics;
  readonly recorder: DecisionRecorder | undefined;
  readonly promotionControl: PromotionControl | undefined;
  readonly telemetry: Telemetry | undefined;
}

export interface StartedPicker {
  readonly picker: EndpointPicker;
  /** The picker behind flow control. */
  readonly router: ControlledRouter;
  readonly headroom: Headroom;
  /** What captures and shadows read. Undefined without either: then requests pay nothing for it. */
  readonly capture: CaptureRecorder | undefined;
  /** Shares with other pickers, once it is started; undefined where nothing is shared. */
  readonly replica: Replica | undefined;
  /** What the live page counts. */
  readonly live: LiveCounts;
}

/** Starts the decision core with the real clock and network, and its subscribers. */
export function startPicker(options: ServeOptions, parts: StartPickerParts): StartedPicker {
  const { seed, runtime, metrics, rules } = parts;
  metrics.keptModels.follow(() => rules.models);
  const { shadows = [], shadowPlans } = options.shadowing;
  const plan = servingPlan(options.plan, options.pool.capacityPart);
  const live = new LiveCounts(runtime.clock);
  const { router, replica } = startRouter(options, parts);
  const scaled = (): ScaledParts => ({ picker: started.picker, router, replica });
  const headroom = createHeadroom(options.autoscaling, runtime.clock, plan, scaled);
  const observing = { plan, live, router, replica, headroom };
  const start = (capture?: CaptureRecorder): EndpointPicker =>
    new EndpointPicker(pickerOptions(options, parts, { ...observing, capture }));
  const isCaptured = options.recording.capture !== undefined || shadows.length > 0;
  const started = isCaptured
    ? startCapture({ plan, shadows: shadowPlans, seed, isShared: replica !== undefined }, start)
    : { picker: start(), capture: undefined };
  router.attach(started.picker);
  router.configure(plan.flowControl);
  return { ...started, router, live, replica, headroom };
}

type Observing = Omit<StartedPicker, 'picker'> & { readonly plan: PickerPlan };

function pickerOptions(
  options: ServeOptions,
  parts: StartPickerParts,
  observing: Observing,
): EndpointPickerOptions {
  const { log } = options;
  const { runtime, metrics } = parts;
  const { plan, router, headroom, capture } = observing;
  return {
    plan,
    runtime: {
      ...runtime,
      clock: capture === undefined ? runtime.clock : inMicroseconds(runtime.clock),
      network: countPolls(runtime.network, metrics, 'metrics-data-source'),
    },
    subscribers: subscribersOf(parts, observing),
    checkPlugins: (plugins) => checkReporters(options.listen, plugins),
    elsewhereObservers: [router.elsewhereObserver, headroom.elsewhereObserver],
    wrapPlugin: timedPlugins(metrics, runtime.clock),
    stopwatch: runtime.clock,
    schedulerRuntime: runtime,
    reservations: reservationsOf(options),
    onEjection: (change) => logEjection(change, log),
    onFault: ({ error, ...fault }) =>
      log.error({ ...fault, err: error }, 'a plugin failed; requests go on without it'),
  };
}

/** What learns of each decision, in the order in which it is called. */
function subscribersOf(
  parts: StartPickerParts,
  { plan, capture, router, live, headroom, replica }: Observing,
): readonly JournalSubscriber[] {
  return [
    ...(capture === undefined ? [] : [capture]),
    ...reportingSubscribers(plan, parts),
    router.observer,
    live,
    headroom,
    ...(parts.promotionControl?.subscribers ?? []),
    ...(replica === undefined ? [] : [replica.subscriber]),
  ];
}

/** What explains, traces and counts decisions. */
function reportingSubscribers(
  plan: PickerPlan,
  { runtime: { clock }, metrics, recorder, telemetry }: StartPickerParts,
): readonly JournalSubscriber[] {
  return [
    ...(recorder === undefined ? [] : [recorder]),
    ...(telemetry === undefined ? [] : [telemetry.subscriber]),
    metricsSubscriber(metrics, seenTraces(telemetry, clock)),
    disaggregationSubscriber(metrics, plan),
    filterSubscriber(metrics, plan),
    predictionSubscriber(metrics),
    new LatencySubscriber(metrics, plan),
  ];
}

/** Flow control, and the exchange of waiting requests between it and the other replicas. */
function startRouter(
  options: ServeOptions,
  { runtime: { clock }, rules, metrics, recorder }: StartPickerParts,
): Pick<StartedPicker, 'router' | 'replica'> {
  const { poolName } = options.pool;
  const measured = new FlowControlMetrics({ metrics, poolName, stopwatch: clock }).wrap;
  const waiting = (): FirstBand | undefined => router.firstBand;
  const replica = createReplica(options, { registry: metrics.registry, clock, waiting });
  const waitingElsewhere = replica && (() => replica.waitingElsewhere());
  const router = new ControlledRouter({
    clock,
    measured,
    waitingElsewhere,
    objectives: () => rules.priorities,
    onStay: recorder?.stays.onStay,
  });
  return { router, replica };
}

/** The traces that exemplars of metrics name. Undefined where none are written. */
function seenTraces(telemetry: Telemetry | undefined, clock: Clock): SeenTraceOf | undefined {
  if (telemetry?.writesTraces !== true) return undefined;
  return (request) => {
    const traceId = telemetry.traceIdOf(request);
    return traceId === undefined ? undefined : { traceId, wallTime: clock.wallTime() };
  };
}

function logEjection({ endpoint, ejected }: EjectionChange, log: ServeOptions['log']): void {
  const { id, address } = endpoint;
  if (ejected === undefined) log.info({ endpoint: id, address }, 'an ejected endpoint is back');
  else {
    const { reason, since, until } = ejected;
    const fields = { endpoint: id, address, reason, forMs: Math.round(until - since) };
    log.warn(fields, 'an endpoint is ejected: it gets no requests but trials');
  }
}

/** Undefined where reservations have no maximum age. */
function reservationsOf({
  requests: { maxReservationAgeMs: maxAgeMs = 0 },
  log,
}: ServeOptions): EndpointPickerOptions['reservations'] {
  if (maxAgeMs === 0) return undefined;
  const onExpired = (released: number): void =>
    log.warn(
      { released, maxReservationAgeMs: maxAgeMs },
      'released the load of requests whose end was not reported: their gateways may have vanished',
    );
  return { maxAgeMs, onExpired };
}
