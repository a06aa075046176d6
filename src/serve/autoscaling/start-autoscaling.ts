import type { Clock, Millis } from '../../framework/runtime.ts';
import type { OtherPickers } from '../../journal/headroom/counted-arrivals.ts';
import { DEFAULT_OBJECTIVE, Headroom } from '../../journal/headroom/headroom.ts';
import type { PickerMetrics } from '../../journal/metrics/metrics.ts';
import { registerHeadroomMetrics } from '../../journal/metrics/pool/headroom-metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { ControlledRouter } from '../../picker/flow-control/controlled-router.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { Replica } from '../../replicas/replica.ts';
import type { Log } from '../../runtime/log/log.ts';

/** What autoscaling aims at. */
export interface AutoscalingOptions {
  /** The objectives by which an answer is good. */
  readonly sloTtftMs: Millis;
  readonly sloTpotMs: Millis;
  /** The share of the capacity that is to be used, above 0 and at most 1. */
  readonly autoscalingTarget: number;
  /** How long a new replica takes to serve. */
  readonly autoscalingLeadMs: Millis;
  /** The port of the KEDA external scaler; undefined for none, 0 for a free one. */
  readonly scalerPort?: number | undefined;
}

/** Where the load of the pool is known. */
export interface ScaledParts {
  readonly picker: EndpointPicker;
  readonly router: ControlledRouter;
  /** Undefined where nothing is shared. */
  readonly replica: Replica | undefined;
}

/** The headroom of a picker, which is made after it. */
export function createHeadroom(
  options: Partial<AutoscalingOptions>,
  clock: Clock,
  plan: PickerPlan,
  scaled: () => ScaledParts,
): Headroom {
  const { ttftMs, tpotMs } = DEFAULT_OBJECTIVE;
  const { sloTtftMs = ttftMs, sloTpotMs = tpotMs } = options;
  return new Headroom({
    plan,
    clock,
    endpoints: () => scaled().picker.pool.snapshot(),
    limitOf: (endpoint) => scaled().picker.limit.of(endpoint),
    waiting: () => scaled().picker.waiting.requests + scaled().router.waiting,
    isHeldBack: () => scaled().router.isHoldingBack,
    undecided: () => scaled().router.undecided,
    others: othersOf(() => scaled().replica),
    isEjected: (endpoint) => scaled().picker.ejector.ejected(endpoint) !== undefined,
    objective: { ttftMs: sloTtftMs, tpotMs: sloTpotMs },
    target: options.autoscalingTarget,
    leadMs: options.autoscalingLeadMs,
  });
}

/** What is known of the other pickers; without a replica nothing is. */
function othersOf(replica: () => Replica | undefined): OtherPickers {
  return {
    connected: () => replica()?.isConnected ?? false,
    waiting: () =>
      (replica()?.waitingElsewhere() ?? []).reduce((sum, { requests }) => sum + requests, 0),
  };
}

/** Watches the headroom, shows it on the metrics page, and answers KEDA where a port is given. */
export async function startAutoscaling(
  { host, scalerPort, log }: Pick<AutoscalingOptions, 'scalerPort'> & { host: string; log: Log },
  { headroom, metrics, clock }: { headroom: Headroom; metrics: PickerMetrics; clock: Clock },
): Promise<{ readonly scalerPort: number | undefined; stop(): void }> {
  registerHeadroomMetrics(metrics.registry, headroom);
  const watch = headroom.start();
  if (scalerPort === undefined) return { scalerPort, stop: () => watch.stop() };
  // Loaded only where it is used.
  const { startExternalScaler } = await import('./external-scaler.ts');
  const scaler = await startExternalScaler({ host, port: scalerPort, headroom, clock });
  log.info({ port: scaler.port }, 'KEDA external scaler listening');
  return {
    scalerPort: scaler.port,
    stop: () => {
      watch.stop();
      scaler.stop();
    },
  };
}
