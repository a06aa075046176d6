import { BREAKER_LINES } from './cluster-lines.ts';
import type { Cluster } from './envoy-types.ts';
import { type Finding, when } from './finding.ts';

/** Envoy's limit of connections, waiting and running requests where a cluster has no thresholds. */
const BREAKER_DEFAULT = 1024;
const BREAKER_MIN = 10_000;
/** Envoy's limit of requests that are repeated at once. */
const RETRIES_DEFAULT = 3;
const RETRIES_MIN = 100;

/** What the circuit breaker of a cluster keeps from it. */
export function checkBreaker(
  { name, circuit_breakers: breakers }: Cluster,
  isRepeated: boolean,
): readonly Finding[] {
  const usual = (breakers?.thresholds ?? []).find(
    ({ priority = 'DEFAULT' }) => priority === 'DEFAULT',
  );
  const least = Math.min(
    usual?.max_connections ?? BREAKER_DEFAULT,
    usual?.max_pending_requests ?? BREAKER_DEFAULT,
    usual?.max_requests ?? BREAKER_DEFAULT,
  );
  const where = `cluster ${name}`;
  const byDefault = (given: unknown): string => (given === undefined ? ', Envoy’s default' : '');
  if (least < BREAKER_MIN) {
    return [
      {
        severity: 'warning',
        id: 'circuit-breaker',
        where,
        what: `its circuit breaker opens at ${least.toLocaleString('en')} requests or connections at once${byDefault(usual)}: more fail with 503.`,
        lines: BREAKER_LINES,
      },
    ];
  }
  const retries = usual?.max_retries ?? RETRIES_DEFAULT;
  return when(isRepeated && usual?.retry_budget === undefined && retries < RETRIES_MIN, {
    severity: 'warning',
    id: 'retry-limit',
    where,
    what: `max_retries of its circuit breaker is ${retries}${byDefault(usual?.max_retries)}: where a host fails with many requests, only so many are repeated at once, and the others fail with 503.`,
    lines: BREAKER_LINES,
  });
}
