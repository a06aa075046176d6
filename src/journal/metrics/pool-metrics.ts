import type { Registry } from 'prom-client';
import type { Endpoint, EndpointMetrics } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/endpoint.ts';
import type { InFlightView } from '../../framework/keys.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import { endpointLabels, type Sample, showMetric } from './family.ts';

interface PoolMetricsOptions {
  readonly registry: Registry;
  /** Label `name` of the pool's gauges. */
  readonly poolName: string;
  readonly snapshot: () => readonly Endpoint[];
  readonly inFlight: InFlightView;
  readonly clock: Clock;
  /** The age of a sample up to which it is fresh. */
  readonly staleMs?: Millis | undefined;
}

type ShowGauge = (metric: string, help: string, samples: () => readonly Sample[]) => void;
type Read = (metrics: EndpointMetrics) => number;

const kvCacheUsage: Read = (metrics) => metrics.kvCacheUsage;
const waitingQueueSize: Read = (metrics) => metrics.waitingQueueSize;
const runningRequests: Read = (metrics) => metrics.runningRequests;

/** Gauges of the pool at the moment of the scrape. Means are over endpoints with a fresh sample. */
export function registerPoolMetrics(options: PoolMetricsOptions): void {
  const { registry, poolName: name } = options;
  const gauge: ShowGauge = (metric, help, samples) =>
    showMetric(registry, { name: metric, help: `[ALPHA] ${help}`, type: 'gauge' }, samples);
  const ofPool = (metric: string, help: string, read: () => number): void =>
    gauge(metric, help, () => [{ labels: { name }, value: read() }]);
  const meanOf = (read: Read) => () => mean(fresh(options).map(({ metrics }) => read(metrics)));
  const deviationOf = (read: Read) => () =>
    deviation(fresh(options).map(({ metrics }) => read(metrics)));
  const ready = (): number => fresh(options).length;
  for (const [metric, what, read] of [
    ['kv_cache_utilization', 'KV-cache usage', kvCacheUsage],
    ['queue_size', 'waiting requests', waitingQueueSize],
    ['running_requests', 'running requests', runningRequests],
  ] as const) {
    ofPool(`llm_d_epp_average_${metric}`, `Mean ${what} of ready endpoints.`, meanOf(read));
    const help = `Standard deviation of ${what} of ready endpoints.`;
    ofPool(`llm_d_epp_std_dev_${metric}`, help, deviationOf(read));
  }
  ofPool('llm_d_epp_ready_endpoints', 'Endpoints with a fresh sample.', ready);
  const deprecated = (metric: string, use: string, read: () => number): void =>
    ofPool(`inference_pool_${metric}`, `[Deprecated: Use llm_d_epp_${use}] The same.`, read);
  for (const [metric, read] of [
    ['average_kv_cache_utilization', kvCacheUsage],
    ['average_queue_size', waitingQueueSize],
  ] as const) {
    deprecated(metric, metric, meanOf(read));
  }
  deprecated('ready_pods', 'ready_endpoints', ready);
  registerEndpointGauges(options, gauge);
}

/** Lines for the endpoints in the pool; the ready ones only where a sample is shown. */
function registerEndpointGauges(options: PoolMetricsOptions, gauge: ShowGauge): void {
  const { poolName: name, snapshot, inFlight } = options;
  gauge('llm_d_epp_per_endpoint_queue_size', 'Waiting requests of each ready endpoint.', () =>
    fresh(options).map(({ id, metrics }) => ({
      labels: { model_server_endpoint: id, name },
      value: metrics.waitingQueueSize,
    })),
  );
  const ofEndpoints = (metric: string, help: string, read: (endpoint: Endpoint) => number): void =>
    gauge(`llm_d_epp_inflight_${metric}`, help, () =>
      snapshot().map((endpoint) => ({
        labels: { ...endpointLabels(endpoint.id), ...LEDGER_LABELS },
        value: read(endpoint),
      })),
    );
  ofEndpoints(
    'requests',
    'Requests sent to an endpoint and not yet ended.',
    (endpoint) => inFlight.load(endpoint).requests,
  );
  ofEndpoints(
    'tokens',
    'Uncached prompt tokens sent to an endpoint that wait for their first output token.',
    (endpoint) => inFlight.load(endpoint).pendingPrefillTokens,
  );
}

/** Shows failed scrapes by reason, and failing endpoints. The returned function counts a scrape. */
export function registerScrapeFailures(
  registry: Registry,
  reasons: readonly string[],
  failing: () => ReadonlyMap<string, number>,
): (reason: string) => void {
  const counts = new Map(reasons.map((reason) => [reason, 0]));
  const help = 'Scrapes of endpoints that failed, by reason.';
  const byReason = (each: ReadonlyMap<string, number>): readonly Sample[] =>
    [...each].map(([reason, value]) => ({ labels: { reason }, value }));
  showMetric(registry, { name: 'pointsman_scrape_failures_total', help, type: 'counter' }, () =>
    byReason(counts),
  );
  const now = 'Endpoints whose last scrape failed, by reason.';
  showMetric(registry, { name: 'pointsman_endpoints_failing', help: now, type: 'gauge' }, () =>
    byReason(failing()),
  );
  return (reason) => void counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

/** Shows how many host names of endpoints are resolved, and how many cannot be. */
export function registerHostNames(
  registry: Registry,
  names: () => readonly { readonly error: string | undefined }[],
): void {
  const help = 'Host names of endpoints, by whether they can be resolved.';
  showMetric(registry, { name: 'pointsman_host_names', help, type: 'gauge' }, () => {
    const failing = names().filter(({ error }) => error !== undefined).length;
    return [
      { labels: { state: 'resolved' }, value: names().length - failing },
      { labels: { state: 'failing' }, value: failing },
    ];
  });
}

/** The ledger counts an endpoint as a whole. */
const LEDGER_LABELS = { fairness_id: '', priority: '', producer_name: 'ledger' };

/** The load of an endpoint without a fresh sample is unknown: a zero would call it idle. */
function fresh({ snapshot, clock, staleMs }: PoolMetricsOptions): readonly Endpoint[] {
  const now = clock.now();
  return snapshot().filter((endpoint) => isFresh(endpoint, now, staleMs));
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The deviation of a population, not of a sample of one. */
function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}
