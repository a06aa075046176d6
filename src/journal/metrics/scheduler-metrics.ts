import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReplacementReport } from '../../framework/plugin.ts';

const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;

/** Shows the scheduler that stands in place of the profiles on the page, if there is one. */
export function registerSchedulerMetrics(
  registry: Registry,
  replacement: () => ReplacementReport | undefined,
): void {
  if (replacement() === undefined) return;
  if (registry.getSingleMetric('pointsman_scheduler_connected') !== undefined) return;
  const registers = [registry];
  const counter = (name: string, help: string, labelNames: readonly string[] = []) => ({
    name: `pointsman_scheduler_${name}`,
    help,
    labelNames: [...labelNames],
    registers,
  });
  new Counter({
    ...counter('decided_total', 'Requests that the configured scheduler has decided.'),
    collect() {
      this.reset();
      this.inc(replacement()?.decided ?? 0);
    },
  });
  new Counter({
    ...counter('declined_total', 'Requests left to the profiles, by reason.', ['reason']),
    collect() {
      this.reset();
      for (const [reason, count] of replacement()?.declined ?? []) this.inc({ reason }, count);
    },
  });
  new Counter({
    ...counter('ignored_answers_total', 'Answers that came too late, twice or to no request.'),
    collect() {
      this.reset();
      this.inc(replacement()?.ignoredAnswers ?? 0);
    },
  });
  new Gauge({
    ...counter('connected', '1 while the scheduler is connected, else 0.'),
    collect() {
      this.set(replacement()?.connected === false ? 0 : 1);
    },
  });
  new Gauge({
    ...counter('breaker', '1 for the state of the circuit breaker, 0 for the others.', ['state']),
    collect() {
      const is = replacement()?.breaker ?? 'closed';
      for (const state of BREAKER_STATES) this.set({ state }, state === is ? 1 : 0);
    },
  });
}
