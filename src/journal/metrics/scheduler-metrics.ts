import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { ReplacementReport } from '../../framework/plugin.ts';
import type { Router } from '../../framework/routing.ts';
import type { Clock } from '../../framework/runtime.ts';
import { SCHEDULER_SECONDS } from './bucket-bounds.ts';

const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;

/** Puts a scheduler that stands in place of the profiles on the picker's page, once; nothing where there is none. */
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

/** Puts on the page how long requests wait before their cycle: for tokens, or for an answer from another process. */
export function timedPrepare(
  prepare: Required<Router>['prepare'],
  registry: Registry,
  clock: Clock,
): Required<Router>['prepare'] {
  const seconds = new Histogram({
    name: 'pointsman_prepare_duration_seconds',
    help: 'Time that requests waited for what their decision needs: tokens, or an answer from another process.',
    buckets: [...SCHEDULER_SECONDS],
    registers: [registry],
  });
  return (request, body, ready, options) => {
    const startedAt = clock.now();
    const done = (): void => {
      seconds.observe((clock.now() - startedAt) / 1000);
      ready();
    };
    return prepare(request, body, done, options);
  };
}
