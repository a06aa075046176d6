import type { Tap } from '../capture/start-tap.ts';
import type { PickerPlan } from '../config/picker-plan.ts';
import { createEndpointPicker, type EndpointPicker } from '../endpoint-picker.ts';
import type { DecisionRecorder } from '../explain/decision-recorder.ts';
import type { Scheduler } from '../framework/scheduling.ts';
import { countPolls } from '../observability/count-polls.ts';
import { instrumentation } from '../observability/instrument.ts';
import type { PickerMetrics } from '../observability/metrics.ts';
import { requestMetrics } from '../observability/request-metrics.ts';
import { timedPrepare } from '../observability/scheduler-metrics.ts';
import type { RealRuntime } from '../runtime/real-runtime.ts';
import type { Promoting } from './promoting.ts';

/** The decision core in the real world, with all that looks on put around it: metrics, the record of decisions, the tap, the canary. */
export function startPicker({
  plan,
  runtime,
  metrics,
  tap,
  recorder,
  promoting,
}: {
  readonly plan: PickerPlan;
  readonly runtime: RealRuntime;
  readonly metrics: PickerMetrics;
  readonly tap: Tap | undefined;
  readonly recorder: DecisionRecorder | undefined;
  readonly promoting: Promoting | undefined;
}): EndpointPicker {
  const instruments = instrumentation(metrics, runtime.clock);
  const scheduled = (bare: Scheduler): Scheduler => {
    const recorded = recorder?.scheduler(bare) ?? bare;
    return instruments.scheduler(tap?.wrapScheduler(recorded) ?? recorded);
  };
  const picker = createEndpointPicker({
    plan,
    runtime: {
      ...runtime,
      ...(tap && { clock: tap.clock }),
      network: countPolls(runtime.network, metrics, 'metrics-data-source'),
    },
    wrapPlugin: () => recorder?.around(instruments.plugins) ?? instruments.plugins,
    wrapScheduler: scheduled,
    observers: [requestMetrics(metrics), ...(promoting === undefined ? [] : [promoting.canary])],
    schedulerRuntime: runtime,
  });
  const prepare = timedPrepare(picker.prepare, metrics.registry, runtime.clock);
  const timed = { ...picker, prepare };
  const guarded = promoting?.wrap(timed) ?? timed;
  return tap?.wrapPicker(guarded) ?? guarded;
}
