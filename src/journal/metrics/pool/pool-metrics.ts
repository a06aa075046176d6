import type { Registry } from 'prom-client';
import type { Endpoint, EndpointMetrics } from '../../../framework/endpoint.ts';
import { isFresh } from '../../../framework/endpoint.ts';
import type { Clock, Millis } from '../../../framework/runtime.ts';
import type { PickerMetrics } from '../metrics.ts';
import { formerNameHelp } from '../page/deprecated-names.ts';
import { type MetricSample, showMetric } from '../page/family.ts';
import { shortNames } from './short-names.ts';

interface PoolMetricsOptions {
  readonly registry: Registry;
  /** Label `name` of the pool's gauges. */
  readonly poolName: string;
  readonly snapshot: () => readonly Endpoint[];
  readonly clock: Clock;
  /** The age of a sample up to which it is fresh. */
  readonly staleMs?: Millis | undefined;
  /** Shows the reference's former names, too. */
  readonly deprecated?: boolean | undefined;
}

type ReadEndpoint = (metrics: EndpointMetrics) => number;

const kvCacheUsage: ReadEndpoint = (metrics) => metrics.kvCacheUsage;
const waitingQueueSize: ReadEndpoint = (metrics) => metrics.waitingQueueSize;
const runningRequests: ReadEndpoint = (metrics) => metrics.runningRequests;

/** Gauges of the pool at the moment of the scrape. Means are over endpoints with a fresh sample. */
export function registerPoolMetrics(options: PoolMetricsOptions): void {
  const ofPool = (metric: string, help: string, read: () => number): void =>
    gauge(options, `llm_d_epp_${metric}`, help, poolSample(options, read));
  for (const [metric, what, read] of MEANS) {
    const values = (): readonly number[] => fresh(options).map(({ metrics }) => read(metrics));
    ofPool(`average_${metric}`, meanHelp(what), () => mean(values()));
    const help = `Standard deviation of ${what}, over the ready endpoints of the pool.`;
    ofPool(`std_dev_${metric}`, help, () => deviation(values()));
  }
  ofPool('ready_endpoints', READY, () => fresh(options).length);
  const queues = queuesBy('model_server_endpoint', options);
  gauge(options, 'llm_d_epp_per_endpoint_queue_size', QUEUES, queues);
  if (options.deprecated === true) showFormerNames(options);
}

function showFormerNames(options: PoolMetricsOptions): void {
  const former = (
    names: readonly string[],
    use: string,
    what: string,
    read: () => readonly MetricSample[],
  ): void => {
    for (const each of names) gauge(options, each, formerNameHelp(use, what), read);
  };
  for (const [metric, what, read] of MEANS) {
    const average = `average_${metric}`;
    const both = [`inference_pool_${average}`, `llm_d_router_epp_${average}`];
    const value = (): number => mean(fresh(options).map(({ metrics }) => read(metrics)));
    former(both, average, meanHelp(what), poolSample(options, value));
  }
  const readyNames = ['inference_pool_ready_pods', 'llm_d_router_epp_ready_endpoints'];
  former(
    readyNames,
    'ready_endpoints',
    READY,
    poolSample(options, () => fresh(options).length),
  );
  const use = 'per_endpoint_queue_size';
  former(['inference_pool_per_pod_queue_size'], use, QUEUES, queuesBy('model_server_pod', options));
  former([`llm_d_router_epp_${use}`], use, QUEUES, queuesBy('model_server_endpoint', options));
}

/** One sample for the whole pool. */
function poolSample(
  { poolName: name }: PoolMetricsOptions,
  read: () => number,
): () => readonly MetricSample[] {
  return () => [{ labels: { name }, value: read() }];
}

/** What waits at each endpoint, whose short name stands in `label`. */
function queuesBy(label: string, options: PoolMetricsOptions): () => readonly MetricSample[] {
  return () => {
    const nameOf = shortNames(options.snapshot());
    return fresh(options).map(({ id, metrics }) => ({
      labels: { [label]: nameOf(id), name: options.poolName },
      value: metrics.waitingQueueSize,
    }));
  };
}

const meanHelp = (what: string): string => `Mean of ${what}, over the ready endpoints of the pool.`;
const READY = 'Endpoints of the pool that are ready: those with a fresh sample.';
const QUEUES = 'Requests that wait in the queue of each ready model server.';
const MEANS = [
  ['kv_cache_utilization', 'the share of KV-cache memory in use', kvCacheUsage],
  ['queue_size', 'requests that wait in the queues', waitingQueueSize],
  ['running_requests', 'requests that run', runningRequests],
] as const;

function gauge(
  { registry }: Pick<PoolMetricsOptions, 'registry'>,
  name: string,
  help: string,
  samples: () => readonly MetricSample[],
): void {
  showMetric(registry, { name, help: `[ALPHA] ${help}`, type: 'gauge' }, samples);
}

/** Failed scrapes whose page came whole, and could not be read. */
const EXTRACT_ERRORS = ['no-series', 'bad-value'];
const EXTRACTOR = { source_type: 'metrics-data-source', extractor_type: 'core-metrics-extractor' };

/** Shows failed scrapes by reason, and failing endpoints. The returned function counts a scrape. */
export function registerScrapeFailures(
  { registry, deprecated }: Pick<PickerMetrics, 'registry' | 'deprecated'>,
  reasons: readonly string[],
  failing: () => ReadonlyMap<string, number>,
): (reason: string) => void {
  const counts = new Map(reasons.map((reason) => [reason, 0]));
  const help = 'Scrapes of endpoints that failed, by reason.';
  const byReason = (each: ReadonlyMap<string, number>): readonly MetricSample[] =>
    [...each].map(([reason, value]) => ({ labels: { reason }, value }));
  showMetric(registry, { name: 'pointsman_scrape_failures_total', help, type: 'counter' }, () =>
    byReason(counts),
  );
  const unread = 'Pages of endpoints that could not be read, by the types of source and extractor.';
  for (const prefix of ['llm_d_epp', ...(deprecated ? ['llm_d_inference_scheduler'] : [])]) {
    const name = `${prefix}_datalayer_extract_errors_total`;
    showMetric(registry, { name, help: `[ALPHA] ${unread}`, type: 'counter' }, () => {
      const value = EXTRACT_ERRORS.reduce((sum, reason) => sum + (counts.get(reason) ?? 0), 0);
      return [{ labels: EXTRACTOR, value }];
    });
  }
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

/** Shows whether the endpoints file is in use as it is now. */
export function registerEndpointsFile(
  registry: Registry,
  file: { lastError(): string | undefined },
): void {
  const name = 'pointsman_endpoints_file_last_reload_successful';
  const help =
    'Whether the current content of the endpoints file is in use (1) or was refused (0).';
  showMetric(registry, { name, help, type: 'gauge' }, () => [
    { labels: {}, value: file.lastError() === undefined ? 1 : 0 },
  ]);
}

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
