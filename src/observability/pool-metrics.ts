import { Gauge, type Registry } from 'prom-client';
import type { Endpoint } from '../framework/endpoint.ts';
import { isFresh } from '../framework/freshness.ts';
import type { InFlightView } from '../framework/keys.ts';
import type { Clock } from '../framework/runtime.ts';

export interface PoolMetricsOptions {
  readonly registry: Registry;
  readonly poolName: string;
  readonly snapshot: () => readonly Endpoint[];
  readonly inFlight: InFlightView;
  readonly clock: Clock;
}

/** Gauges of the pool, worked out when the page is asked for. Averages are over endpoints with a fresh sample. */
export function registerPoolMetrics(options: PoolMetricsOptions): void {
  const { registry, poolName, snapshot, inFlight, clock } = options;
  const fresh = (): readonly Endpoint[] =>
    snapshot().filter((endpoint) => isFresh(endpoint, clock.now()));
  const gauge = (
    name: string,
    help: string,
    labelNames: readonly string[],
    collect: (gauge: Gauge<string>) => void,
  ): void => {
    new Gauge({
      name: `llm_d_epp_${name}`,
      help: `[ALPHA] ${help}`,
      labelNames: [...labelNames],
      registers: [registry],
      collect() {
        this.reset();
        collect(this);
      },
    });
  };
  const values = {
    kv_cache_utilization: (endpoint: Endpoint) => endpoint.metrics.kvCacheUsage,
    queue_size: (endpoint: Endpoint) => endpoint.metrics.waitingQueueSize,
    running_requests: (endpoint: Endpoint) => endpoint.metrics.runningRequests,
  };
  for (const [name, value] of Object.entries(values)) {
    gauge(`average_${name}`, 'Mean over the pool.', ['name'], (each) => {
      each.set({ name: poolName }, mean(fresh().map(value)));
    });
    gauge(`std_dev_${name}`, 'Standard deviation over the pool.', ['name'], (each) => {
      each.set({ name: poolName }, deviation(fresh().map(value)));
    });
  }
  gauge('ready_endpoints', 'Endpoints with a fresh sample.', ['name'], (each) => {
    each.set({ name: poolName }, fresh().length);
  });
  gauge(
    'per_endpoint_queue_size',
    'Waiting requests.',
    ['name', 'model_server_endpoint'],
    (each) => {
      for (const { id, metrics } of fresh()) {
        each.set({ name: poolName, model_server_endpoint: id }, metrics.waitingQueueSize);
      }
    },
  );
  const perEndpoint = ['endpoint_name', 'namespace'] as const;
  gauge('inflight_requests', 'Requests of ours in flight.', perEndpoint, (each) => {
    for (const endpoint of snapshot()) each.set(named(endpoint), inFlight.load(endpoint).requests);
  });
  gauge('inflight_tokens', 'Prompt tokens of ours waiting to be computed.', perEndpoint, (each) => {
    for (const endpoint of snapshot()) {
      each.set(named(endpoint), inFlight.load(endpoint).pendingPrefillTokens);
    }
  });
}

function named({ id }: Endpoint): { readonly endpoint_name: string; readonly namespace: string } {
  const slash = id.indexOf('/');
  return { endpoint_name: id.slice(slash + 1), namespace: id.slice(0, Math.max(0, slash)) };
}

function mean(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((a, b) => a + b, 0) / values.length;
}

function deviation(values: readonly number[]): number {
  const average = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - average) ** 2)));
}
