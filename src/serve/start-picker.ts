import type { Scheduler } from '../framework/scheduling.ts';
import type { Tap } from '../journal/capture/start-tap.ts';
import type { DecisionRecorder } from '../journal/explain/decision-recorder.ts';
import { countPolls } from '../journal/metrics/count-polls.ts';
import { instrumentation } from '../journal/metrics/instrument.ts';
import type { PickerMetrics } from '../journal/metrics/metrics.ts';
import { requestMetrics } from '../journal/metrics/request-metrics.ts';
import { timedPrepare } from '../journal/metrics/scheduler-metrics.ts';
import { createEndpointPicker, type EndpointPicker } from '../picker/endpoint-picker.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
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
