import { Gauge, type Registry } from 'prom-client';
import type { Endpoint, EndpointMetrics } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/freshness.ts';
import type { InFlightView } from '../../framework/keys.ts';
import type { Clock } from '../../framework/runtime.ts';
import { endpointLabels } from './family.ts';

export interface PoolMetricsOptions {
  readonly registry: Registry;
  /** Label `name` of the pool's gauges. */
  readonly poolName: string;
  readonly snapshot: () => readonly Endpoint[];
  readonly inFlight: InFlightView;
  readonly clock: Clock;
}

type Read = (metrics: EndpointMetrics) => number;

const kvCacheUsage: Read = (metrics) => metrics.kvCacheUsage;
const waitingQueueSize: Read = (metrics) => metrics.waitingQueueSize;
const runningRequests: Read = (metrics) => metrics.runningRequests;

/** Gauges of the pool at the moment of the scrape. Means are over endpoints with a fresh sample. */
export function registerPoolMetrics(options: PoolMetricsOptions): void {
  const { registry, poolName } = options;
  const fresh = (): readonly Endpoint[] => freshOf(options);
  const pool = (name: string, help: string, value: () => number): void => {
    const gauge: Gauge<'name'> = new Gauge({
      name,
      help: `[ALPHA] ${help}`,
      labelNames: ['name'],
      registers: [registry],
      collect: () => gauge.set({ name: poolName }, value()),
    });
  };
  const spread = (name: string, what: string, read: Read): void => {
    pool(`llm_d_epp_average_${name}`, `Mean ${what} of ready endpoints.`, () =>
      mean(fresh().map(({ metrics }) => read(metrics))),
    );
    pool(`llm_d_epp_std_dev_${name}`, `Standard deviation of ${what} of ready endpoints.`, () =>
      deviation(fresh().map(({ metrics }) => read(metrics))),
    );
  };
  spread('kv_cache_utilization', 'KV-cache usage', kvCacheUsage);
  spread('queue_size', 'waiting requests', waitingQueueSize);
  spread('running_requests', 'running requests', runningRequests);
  pool('llm_d_epp_ready_endpoints', 'Endpoints with a fresh sample.', () => fresh().length);
  const old = (use: string): string => `[Deprecated: Use llm_d_epp_${use}] The same.`;
  pool('inference_pool_average_kv_cache_utilization', old('average_kv_cache_utilization'), () =>
    mean(fresh().map(({ metrics }) => kvCacheUsage(metrics))),
  );
  pool('inference_pool_average_queue_size', old('average_queue_size'), () =>
    mean(fresh().map(({ metrics }) => waitingQueueSize(metrics))),
  );
  pool('inference_pool_ready_pods', old('ready_endpoints'), () => fresh().length);
  registerEndpointGauges(options);
}

/** A line for each endpoint in the pool. Nothing is kept between scrapes. */
function registerEndpointGauges(options: PoolMetricsOptions): void {
  const { registry, poolName, snapshot, inFlight } = options;
  const queue = new Gauge({
    name: 'llm_d_epp_per_endpoint_queue_size',
    help: '[ALPHA] Waiting requests of each ready endpoint.',
    labelNames: ['model_server_endpoint', 'name'],
    registers: [registry],
    collect: () => {
      queue.reset();
      for (const { id, metrics } of freshOf(options)) {
        queue.set({ model_server_endpoint: id, name: poolName }, metrics.waitingQueueSize);
      }
    },
  });
  const gaugeOf = (name: string, help: string, read: (endpoint: Endpoint) => number): void => {
    const gauge = new Gauge({
      name: `llm_d_epp_${name}`,
      help: `[ALPHA] ${help}`,
      labelNames: ['endpoint_name', 'fairness_id', 'namespace', 'priority', 'producer_name'],
      registers: [registry],
      collect: () => {
        gauge.reset();
        for (const endpoint of snapshot()) {
          gauge.set(
            // The ledger counts an endpoint as a whole: the other labels stay empty.
            {
              ...endpointLabels(endpoint.id),
              fairness_id: '',
              priority: '',
              producer_name: 'ledger',
            },
            read(endpoint),
          );
        }
      },
    });
  };
  gaugeOf(
    'inflight_requests',
    'Requests sent to an endpoint and not yet ended.',
    (endpoint) => inFlight.load(endpoint).requests,
  );
  gaugeOf(
    'inflight_tokens',
    'Uncached prompt tokens sent to an endpoint that wait for their first output token.',
    (endpoint) => inFlight.load(endpoint).pendingPrefillTokens,
  );
}

/** The load of an endpoint without a fresh sample is unknown: a zero would call it idle. */
function freshOf({ snapshot, clock }: PoolMetricsOptions): readonly Endpoint[] {
  const now = clock.now();
  return snapshot().filter((endpoint) => isFresh(endpoint, now));
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The deviation of a population, not of a sample of one. */
function deviation(values: readonly number[]): number {
  const middle = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - middle) ** 2)));
}
