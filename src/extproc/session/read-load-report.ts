import type { LoadReport } from '../../framework/endpoint.ts';

/**
 * Asks a model server for a load report (ORCA, `xds.data.orca.v3`) in the headers of its answer.
 * vLLM knows the formats `TEXT` and `JSON`, and reports with answers that come whole; Triton knows
 * both.
 */
export const REPORT_FORMAT_HEADER = 'endpoint-load-metrics-format';
export const REPORT_FORMAT = 'TEXT';
export const REPORT_HEADER = 'endpoint-load-metrics';

/** Some hundred metrics; a server's report is made of a few. */
const REPORT_LENGTH_MAX = 4096;
/** The bound of metrics pages: far more than wait or run at any server. */
const REQUESTS_MAX = 1_000_000;

/** Names under `named_metrics`, of vLLM and Triton. */
const WAITING: readonly string[] = ['num_requests_waiting'];
const RUNNING: readonly string[] = ['num_requests_running'];
const KV_USAGE: readonly string[] = ['kv_cache_usage_perc', 'kv_cache_utilization'];

/**
 * The load in the value of a report's header; undefined where it has none, is too long, or is in
 * another format. Values that their metric cannot have are left out.
 */
export function readLoadReport(value: string): LoadReport | undefined {
  if (value.length > REPORT_LENGTH_MAX) return undefined;
  const [, format = '', content = ''] = /^(?:(TEXT|JSON) )?(.*)$/is.exec(value.trim()) ?? [];
  const isJson = format === '' ? content.startsWith('{') : format.toUpperCase() === 'JSON';
  const metrics = isJson ? jsonMetrics(content) : textMetrics(content);
  const waitingQueueSize = firstWithin(metrics, WAITING, REQUESTS_MAX);
  const runningRequests = firstWithin(metrics, RUNNING, REQUESTS_MAX);
  const kvCacheUsage = firstWithin(metrics, KV_USAGE, 1);
  const report = { waitingQueueSize, runningRequests, kvCacheUsage };
  return Object.values(report).every((value) => value === undefined) ? undefined : report;
}

/** `cpu_utilization=0.3, named_metrics.num_requests_waiting=4` */
function textMetrics(content: string): ReadonlyMap<string, unknown> {
  const metrics = new Map<string, unknown>();
  for (const pair of content.split(',')) {
    const [name = '', value = ''] = pair.split('=', 2);
    const number = value.trim() === '' ? Number.NaN : Number(value);
    metrics.set(name.trim().replace(/^named_metrics\./, ''), number);
  }
  return metrics;
}

/** `{"named_metrics":{"num_requests_waiting":4}}` */
function jsonMetrics(content: string): ReadonlyMap<string, unknown> {
  try {
    const report: unknown = JSON.parse(content);
    const named = report instanceof Object && 'named_metrics' in report && report.named_metrics;
    return new Map(Object.entries(named instanceof Object ? named : {}));
  } catch {
    // The answer passes; only its report is not used.
    return new Map();
  }
}

function firstWithin(
  metrics: ReadonlyMap<string, unknown>,
  names: readonly string[],
  max: number,
): number | undefined {
  const values = names.map((name) => metrics.get(name));
  return values.find((value) => typeof value === 'number' && value >= 0 && value <= max) as
    | number
    | undefined;
}
