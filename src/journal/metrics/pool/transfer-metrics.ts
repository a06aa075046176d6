import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { CUSTOM_METRICS } from '../../../framework/endpoint-attributes.ts';
import { showMetric } from '../page/family.ts';
import { shortNames } from './short-names.ts';

/** By attribute of the endpoint: what the reference calls it, and what it counts. */
const FAILURES = [
  ['NixlFailedTransfers', 'failed_transfers', 'Failed transfers of KV blocks'],
  [
    'NixlFailedNotifications',
    'failed_notifications',
    'Failed notifications of transfers of KV blocks',
  ],
  ['NixlKVExpiredRequests', 'kv_expired_requests', 'Requests whose KV blocks were never fetched'],
] as const;

/**
 * Shows the failures between prefill and decode servers that endpoints report. One that reports none
 * of these counters has no line: it may have no such transfers.
 */
export function registerTransferFailures(
  registry: Registry,
  poolName: string,
  snapshot: () => readonly Endpoint[],
): void {
  for (const [attribute, what, help] of FAILURES) {
    const name = `llm_d_epp_per_endpoint_nixl_${what}_total`;
    const shown = `[ALPHA] ${help}, as each endpoint reports them.`;
    showMetric(registry, { name, help: shown, type: 'counter' }, () => {
      const endpoints = snapshot();
      const nameOf = shortNames(endpoints);
      return endpoints.flatMap((endpoint) => {
        const value = endpoint.attribute(CUSTOM_METRICS).get(attribute);
        const labels = { model_server_endpoint: nameOf(endpoint.id), name: poolName };
        return value === undefined ? [] : [{ labels, value }];
      });
    });
  }
}
