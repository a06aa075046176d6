import type { Registry } from 'prom-client';
import type { Programs } from '../../../flow/control/fairness/programs.ts';
import type { FlowControl } from '../../../flow/control/flow-control.ts';
import type { Detector } from '../../../flow/control/saturation/saturation-detectors.ts';
import type { Millis } from '../../../framework/runtime.ts';
import { type MetricSample, showMetric } from '../page/family.ts';

export interface FlowGaugesOptions {
  readonly registry: Registry;
  readonly poolName: string;
  /** Undefined while no configuration with flow control is in charge. */
  readonly control: () => FlowControl | undefined;
  readonly now: () => Millis;
}

/** Gauges of flow control at the moment of the scrape. */
export function showFlowGauges(options: FlowGaugesOptions): void {
  showSaturation(options);
  showCapacity(options);
  showReclamation(options);
  showPrograms(options);
}

type Shown = (
  name: string,
  help: string,
  samples: (control: FlowControl) => MetricSample[],
) => void;

function shown(
  { registry, control }: FlowGaugesOptions,
  type: 'gauge' | 'counter' = 'gauge',
): Shown {
  return (name, help, samples) =>
    showMetric(registry, { name: `llm_d_epp_${name}`, help: `[ALPHA] ${help}`, type }, () => {
      const present = control();
      return present === undefined ? [] : samples(present);
    });
}

function showSaturation(options: FlowGaugesOptions): void {
  const { poolName: inference_pool, now } = options;
  const gauge = shown(options);
  gauge(
    'flow_control_pool_saturation',
    'Load of the pool over the load that its saturation detector wants: 0 is idle, 1 or more is saturated.',
    (control) => {
      const { effective, stages } = control.saturationAt(now());
      const all = [...stages, ['effective', effective] as const];
      return all.map(([stage, value]) => ({ labels: { inference_pool, stage }, value }));
    },
  );
  gauge(
    'flow_control_detector_saturation',
    'Saturation of the pool as each saturation detector has it: 0 is idle, 1 or more is saturated.',
    (control) =>
      detectorsOf(control).flatMap(({ name, detector }) => {
        const { effective, stages } = control.saturationAt(now(), detector);
        const all = stages.size === 0 ? [['', effective] as const] : [...stages];
        return all.map(([stage, value]) => ({ labels: { detector: name, stage }, value }));
      }),
  );
  gauge(
    'flow_control_stale_endpoints',
    'Endpoints whose metrics are too old for a saturation detector.',
    (control) =>
      detectorsOf(control).flatMap(({ name, detector }) => {
        const value = detector.stale?.({ endpoints: control.endpoints, at: now() });
        return value === undefined ? [] : [{ labels: { detector: name }, value }];
      }),
  );
}

/** The detectors that measure themselves. */
function detectorsOf({
  detector,
  parts: { detector: plan },
}: FlowControl): readonly { readonly name: string; readonly detector: Detector }[] {
  return detector.combines ?? [{ name: plan.name, detector }];
}

function showCapacity(options: FlowGaugesOptions): void {
  const { poolName: inference_pool, now } = options;
  const gauge = shown(options);
  const help = 'What waits in flow control over what may wait there';
  gauge('flow_control_capacity_utilization_requests', `${help}, in requests.`, (control) =>
    control.bandsAt(now()).map(({ priority, size, plan }) => ({
      labels: { inference_pool, priority },
      value: size / plan.maxRequests,
    })),
  );
  gauge('flow_control_capacity_utilization_bytes', `${help}, in bytes.`, (control) =>
    control.bandsAt(now()).map(({ priority, bytes, plan }) => ({
      labels: { inference_pool, priority },
      value: bytes / plan.maxBytes,
    })),
  );
  const global = (used: number, limit: number): MetricSample[] =>
    Number.isFinite(limit) ? [{ labels: { inference_pool }, value: used / limit }] : [];
  gauge(
    'flow_control_global_capacity_utilization_requests',
    `${help} in all bands, in requests.`,
    ({ size, parts }) => global(size, parts.maxRequests),
  );
  gauge(
    'flow_control_global_capacity_utilization_bytes',
    `${help} in all bands, in bytes.`,
    ({ bytes, parts }) => global(bytes, parts.maxBytes),
  );
}

function showReclamation(options: FlowGaugesOptions): void {
  const { poolName: inference_pool } = options;
  const labels = { inference_pool };
  const gauge = shown(options);
  const target = 'Saturation above the ceiling of the band that waited when requests were evicted.';
  gauge('flow_control_reclaim_target', target, ({ reclamation }) => [
    { labels, value: reclamation.target },
  ]);
  const pending = 'Saturation that evicted requests free and that does not show yet.';
  gauge('flow_control_pending_reclaim', pending, ({ reclamation }) => [
    { labels, value: reclamation.pendingAt(options.now()) },
  ]);
  const ended = 'Evicted requests whose end was seen, or not in time.';
  shown(options, 'counter')('flow_control_revocations_total', ended, ({ reclamation }) => [
    { labels: { ...labels, outcome: 'confirmed' }, value: reclamation.counts.confirmed },
    { labels: { ...labels, outcome: 'timed_out' }, value: reclamation.counts.timedOut },
  ]);
}

/** Programs with series of their own: those that were placed most recently. */
const PROGRAMS_MAX = 1000;

function showPrograms(options: FlowGaugesOptions): void {
  const gauge = shown(options);
  const jain = 'Jain’s index of the mean waits of programs: 1 where all are equal.';
  gauge('program_aware_jains_fairness_index', jain, (control) =>
    // One line without labels, whatever the number of bands.
    programsOf(control)
      .map((programs) => ({ labels: {}, value: programs.fairnessIndex() }))
      .slice(0, 1),
  );
  const each = (
    name: string,
    help: string,
    value: (program: ProgramView, programs: Programs) => number,
  ): void =>
    gauge(name, help, (control) =>
      programsOf(control)
        .flatMap((programs) =>
          [...programs.all()].slice(-PROGRAMS_MAX).map((program) => ({
            labels: { program_id: program.id },
            value: value(program, programs),
          })),
        )
        .slice(-PROGRAMS_MAX),
    );
  each('program_aware_avg_wait_time_milliseconds', 'Mean wait of each program.', (program) =>
    program.placed === 0 ? 0 : program.waitedMs / program.placed,
  );
  each(
    'program_aware_attained_service_tokens',
    'Prompt and twice the output tokens of each program, decayed.',
    (program, programs) => programs.serviceAt(program, options.now()),
  );
}

/** The programs of each fairness policy that knows some. */
function programsOf({ bands }: FlowControl): readonly Programs[] {
  return [...bands.fairness.values()].flatMap(({ programs }) => programs ?? []);
}

type ProgramView = Parameters<Programs['serviceAt']>[0];
