import type { Endpoint } from '../../framework/endpoint.ts';
import { isFresh } from '../../framework/endpoint.ts';
import {
  CUSTOM_METRICS,
  GPU_UTILIZATION,
  LABEL_ATTRIBUTES,
} from '../../framework/endpoint-attributes.ts';
import type { Millis } from '../../framework/runtime.ts';

const GPU = 'GPUUtilization';

/** Metrics of servers and GPUs, by the reference's names. */
const STANDARD: ReadonlyMap<string, (endpoint: Endpoint) => number | undefined> = new Map<
  string,
  (endpoint: Endpoint) => number | undefined
>([
  [GPU, (endpoint) => endpoint.attribute(GPU_UTILIZATION)],
  ['WaitingQueueSize', ({ metrics }) => metrics.waitingQueueSize],
  ['RunningRequestsSize', ({ metrics }) => metrics.runningRequests],
  ['KVCacheUsagePercent', ({ metrics }) => metrics.kvCacheUsage],
]);

/**
 * A number of an endpoint by name: one of its labels, a custom metric that the configuration reads
 * from the server's metrics page, or a standard one. Undefined where there is none, or for a metric
 * of the server where the sample is not fresh.
 */
export function numericAttribute(
  endpoint: Endpoint,
  name: string,
  now: Millis,
): number | undefined {
  const label = endpoint.attribute(LABEL_ATTRIBUTES).get(name);
  if (typeof label === 'number') return label;
  // The reference writes some names with the producer of the value:
  // `GPUUtilization/dcgm-extractor`.
  const [plain = name] = name.split('/', 1);
  // It comes from another page than the sample, which may be old or missing.
  if (!isFresh(endpoint, now))
    return plain === GPU ? endpoint.attribute(GPU_UTILIZATION) : undefined;
  const custom = endpoint.attribute(CUSTOM_METRICS);
  return custom.get(name) ?? custom.get(plain) ?? STANDARD.get(plain)?.(endpoint);
}
