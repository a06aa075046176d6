import type { IncomingHttpHeaders } from 'node:http';
import type { StubReplica } from '../replica/stub-replica.ts';

/** Asks for a report; its value is the format. */
const FORMAT_HEADER = 'endpoint-load-metrics-format';
const REPORT_HEADER = 'endpoint-load-metrics';

/**
 * The header with the load of the server (ORCA), where the client asks for one in a format that
 * vLLM knows. vLLM adds it to answers of chats and completions that come whole.
 */
export function loadReport(
  headers: IncomingHttpHeaders,
  { engine }: StubReplica,
): [string, string][] {
  const named = {
    kv_cache_usage_perc: engine.kv.pool.usage,
    num_requests_waiting: engine.waitingCount,
  };
  const format = String(headers[FORMAT_HEADER]).toUpperCase();
  if (format === 'JSON') {
    return [[REPORT_HEADER, `JSON ${JSON.stringify({ named_metrics: named })}`]];
  }
  if (format !== 'TEXT') return [];
  const pairs = Object.entries(named).map(([name, value]) => `named_metrics.${name}=${value}`);
  return [[REPORT_HEADER, `TEXT ${pairs.join(', ')}`]];
}
