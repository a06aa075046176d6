import type { Endpoint } from '../../framework/endpoint.ts';
import {
  CACHE_CONFIG,
  CONTEXT_WINDOW,
  CUSTOM_METRICS,
  ENGINE_COUNT,
  GPU_UTILIZATION,
  LORA,
  MODELS,
  STARTED_AT,
} from '../../framework/endpoint-attributes.ts';
import type { EndpointRecord } from './capture-record.ts';

type Write = (record: EndpointRecord) => void;

/** Records from which an empty pool gets these endpoints, with all that is known of them. */
export function poolRecords(endpoints: readonly Endpoint[]): readonly EndpointRecord[] {
  const records: EndpointRecord[] = [];
  const write: Write = (record) => void records.push(record);
  for (const endpoint of endpoints) {
    writeAdded(endpoint, write);
    if (!isSampled(endpoint)) continue;
    const { waitingQueueSize, runningRequests, kvCacheUsage, sampledAt } = endpoint.metrics;
    write({
      e: 'm',
      id: endpoint.id,
      m: [waitingQueueSize, runningRequests, kvCacheUsage, sampledAt],
    });
  }
  return records;
}

/** The endpoint and its attributes, without its sample. */
export function writeAdded(endpoint: Endpoint, write: Write): void {
  const { id, address, labels } = endpoint;
  write({ e: '+', id, address, labels: Object.fromEntries(labels) });
  writeAttributes(endpoint, undefined, write);
}

/** The attributes that differ from those of `previous`; all of them where that is undefined. */
export function writeAttributes(
  endpoint: Endpoint,
  previous: Endpoint | undefined,
  write: Write,
): void {
  const { id } = endpoint;
  const cache = endpoint.attribute(CACHE_CONFIG);
  if (cache !== undefined && cache !== previous?.attribute(CACHE_CONFIG)) {
    write({ e: 'cache', id, ...cache });
  }
  const engines = endpoint.attribute(ENGINE_COUNT);
  if (engines !== (previous?.attribute(ENGINE_COUNT) ?? ENGINE_COUNT.initial)) {
    write({ e: 'engines', id, n: engines });
  }
  const lora = endpoint.attribute(LORA);
  if (lora !== undefined && lora !== previous?.attribute(LORA)) {
    const { running, waiting, max } = lora;
    write({ e: 'lora', id, running: [...running], waiting: [...waiting], max });
  }
  const started = endpoint.attribute(STARTED_AT);
  if (started !== undefined && started !== previous?.attribute(STARTED_AT)) {
    write({ e: 'started', id, s: started });
  }
  const custom = endpoint.attribute(CUSTOM_METRICS);
  if (custom !== (previous?.attribute(CUSTOM_METRICS) ?? CUSTOM_METRICS.initial)) {
    write({ e: 'custom', id, values: Object.fromEntries(custom) });
  }
  writePolled(endpoint, previous, write);
}

/** What other pages than the metrics page say, and answers. */
function writePolled(endpoint: Endpoint, previous: Endpoint | undefined, write: Write): void {
  const { id } = endpoint;
  const models = endpoint.attribute(MODELS);
  if (models !== undefined && models !== previous?.attribute(MODELS)) {
    const adapters = models.map((model) => [model.id, model.isAdapter] as const);
    write({ e: 'models', id, models: Object.fromEntries(adapters) });
  }
  const utilization = endpoint.attribute(GPU_UTILIZATION);
  if (utilization !== undefined && utilization !== previous?.attribute(GPU_UTILIZATION)) {
    write({ e: 'gpu', id, u: utilization });
  }
  const window = endpoint.attribute(CONTEXT_WINDOW);
  if (window !== previous?.attribute(CONTEXT_WINDOW)) write({ e: 'window', id, tokens: window });
}

/** Whether the endpoint has been scraped at least once. */
export function isSampled({ metrics }: Endpoint): boolean {
  return metrics.sampledAt > Number.NEGATIVE_INFINITY;
}
