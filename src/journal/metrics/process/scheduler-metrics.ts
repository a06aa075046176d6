import type { Registry } from 'prom-client';
import {
  BREAKER_STATES,
  type ChallengerReport,
  type ReplacementReport,
  SCHEDULER_STATES,
} from '../../../framework/replacement.ts';
import { type MetricSample, showMetric } from '../page/family.ts';

type ReadSamples = (report: ReplacementReport) => readonly MetricSample[];
type Show = (type: 'counter' | 'gauge', name: string, help: string, read: ReadSamples) => void;

interface ShownSchedulers {
  readonly inCharge: () => ReplacementReport | undefined;
  /** Undefined where shadows are never promoted. */
  readonly promoted?: (() => ChallengerReport | undefined) | undefined;
}

/**
 * Shows the schedulers that stand in place of profiles on the page: that in charge, and that of a
 * promoted shadow with the label `shadow`.
 */
export function registerSchedulerMetrics(
  registry: Registry,
  { inCharge, promoted }: ShownSchedulers,
): void {
  if (inCharge() === undefined && promoted === undefined) return;
  if (registry.getSingleMetric('pointsman_scheduler_connected') !== undefined) return;
  const show: Show = (type, name, help, read) =>
    showMetric(registry, { name: `pointsman_scheduler_${name}`, help, type }, () => {
      const report = inCharge();
      const own = report === undefined ? [] : read(report);
      return [...own, ...shadowSamples(promoted?.(), read)];
    });
  showDecisions(show);
  showStates(show);
}

function showDecisions(show: Show): void {
  const decided = 'Requests that the configured scheduler has decided.';
  show('counter', 'decided_total', decided, (report) => one(report.decided));
  show('counter', 'declined_total', 'Requests left to the profiles, by reason.', ({ declined }) =>
    [...(declined ?? [])].map(([reason, value]) => ({ labels: { reason }, value })),
  );
  const ignored = 'Answers that came too late, twice or to no request.';
  show('counter', 'ignored_answers_total', ignored, (report) => one(report.ignoredAnswers));
}

function showStates(show: Show): void {
  show('gauge', 'connected', '1 while the scheduler is connected, else 0.', ({ connected }) =>
    one(connected === false ? 0 : 1),
  );
  show('gauge', 'state', '1 for the state that it is in, 0 for the others.', ({ state: is }) =>
    SCHEDULER_STATES.map((state) => ({ labels: { state }, value: state === is ? 1 : 0 })),
  );
  const changes = 'How often it has got into each state.';
  show('counter', 'changes_total', changes, (report) =>
    SCHEDULER_STATES.map((state) => ({
      labels: { state },
      value: report.changes?.get(state) ?? 0,
    })),
  );
  const breaker = '1 for the state of the circuit breaker, 0 for the others.';
  show('gauge', 'breaker', breaker, ({ breaker: is = 'closed' }) =>
    BREAKER_STATES.map((state) => ({ labels: { state }, value: state === is ? 1 : 0 })),
  );
}

function shadowSamples(
  report: ChallengerReport | undefined,
  read: ReadSamples,
): readonly MetricSample[] {
  if (report === undefined) return [];
  const { challenger: shadow } = report;
  return read(report).map(({ labels, value }) => ({ labels: { ...labels, shadow }, value }));
}

function one(value = 0): readonly MetricSample[] {
  return [{ labels: {}, value }];
}
