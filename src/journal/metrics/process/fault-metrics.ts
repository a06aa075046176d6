import type { Registry } from 'prom-client';
import type { FaultCount } from '../../../framework/error.ts';
import { showMetric } from '../page/family.ts';

/** Shows how many reservations were released because of their age. */
export function registerExpiredReservations(registry: Registry, expired: () => number): void {
  const name = 'pointsman_reservations_expired_total';
  const help = 'Reservations released because no end of the request was reported for too long.';
  showMetric(registry, { name, help, type: 'counter' }, () => [{ labels: {}, value: expired() }]);
}

/** Shows how often plugins and observers have failed, by the part and the call that failed. */
export function registerFaultMetrics(
  registry: Registry,
  faults: { counts(): readonly FaultCount[] },
): void {
  const name = 'pointsman_plugin_faults_total';
  const help = 'Calls of plugins and observers that failed; requests went on without them.';
  showMetric(registry, { name, help, type: 'counter' }, () =>
    faults.counts().map(({ kind, name: plugin_name, call, count }) => ({
      labels: { plugin_kind: kind, plugin_name, call },
      value: count,
    })),
  );
}
