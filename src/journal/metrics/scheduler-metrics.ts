import { Counter, Gauge, type Registry } from 'prom-client';
import type { ReplacementReport } from '../../framework/plugin.ts';

const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;

/**
 * Puts a scheduler that stands in place of the profiles on the picker's page, once; nothing where
 * there is none.
 */
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
    ...counter('declined_total', 'Requests left to the profiles, by why.', ['reason']),
    collect() {
      this.reset();
      for (const [reason, count] of replacement()?.declined ?? []) this.inc({ reason }, count);
    },
  });
  new Counter({
    ...counter('ignored_answers_total', 'Answers that came too late, twice or unasked.'),
    collect() {
      this.reset();
      this.inc(replacement()?.ignoredAnswers ?? 0);
    },
  });
  new Gauge({
    ...counter('connected', 'Whether the scheduler has greeted and is there.'),
    collect() {
      this.set(replacement()?.connected === false ? 0 : 1);
    },
  });
  new Gauge({
    ...counter('breaker', '1 for the state that the breaker is in.', ['state']),
    collect() {
      const is = replacement()?.breaker ?? 'closed';
      for (const state of BREAKER_STATES) this.set({ state }, state === is ? 1 : 0);
    },
  });
}
