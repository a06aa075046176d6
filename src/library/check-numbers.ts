import type { EndpointMetrics } from '../framework/endpoint.ts';
import { ENGINE_COUNT_MAX } from '../framework/endpoint-attributes.ts';
import { RoutingError } from '../framework/error.ts';

/** The numbers of a request that a caller counts. */
interface RequestNumbers {
  readonly promptTokens: number;
  readonly outputTokensMax?: number;
  readonly ttftSloMs?: number;
  readonly blockTokens?: number;
  readonly priority?: number;
}

/**
 * Throws RangeError for a sample with a number that its metric cannot have. NaN would go into sums
 * that every later decision reads.
 */
export function checkSample({
  waitingQueueSize,
  runningRequests,
  kvCacheUsage,
}: Omit<EndpointMetrics, 'sampledAt'>): void {
  checkMetric('waitingQueueSize', waitingQueueSize, Number.MAX_VALUE);
  checkMetric('runningRequests', runningRequests, Number.MAX_VALUE);
  checkMetric('kvCacheUsage', kvCacheUsage, 1);
}

/** Throws RangeError for a number of engines that no endpoint has. */
export function checkEngines(engines: number): void {
  if (Number.isInteger(engines) && engines >= 1 && engines <= ENGINE_COUNT_MAX) return;
  const bound = `whole number from 1 to ${ENGINE_COUNT_MAX}`;
  throw new RangeError(`addEndpoint: engines is ${shown(engines)}; give a ${bound}`);
}

function checkMetric(name: string, value: number, most: number): void {
  if (isWithin(value, most)) return;
  const bound = most === 1 ? 'from 0 to 1' : 'of 0 or more';
  throw new RangeError(`setMetrics: ${name} is ${shown(value)}; give a number ${bound}`);
}

/** Throws RoutingError for a request with a size that it cannot have. */
export function checkSizes(request: RequestNumbers): void {
  const { promptTokens, outputTokensMax = 0, ttftSloMs = 0, blockTokens = 1 } = request;
  const { priority = 0 } = request;
  const refuse = (name: string, value: unknown, kind: string): never => {
    throw new RoutingError('invalid-request', `${name} is ${shown(value)}; give a ${kind}`);
  };
  for (const [name, value] of Object.entries({ promptTokens, outputTokensMax, ttftSloMs })) {
    if (!isWithin(value, Number.MAX_VALUE)) refuse(name, value, 'number of 0 or more');
  }
  if (!(Number.isSafeInteger(blockTokens) && blockTokens > 0)) {
    refuse('blockTokens', blockTokens, 'whole number of 1 or more');
  }
  if (!Number.isFinite(priority)) refuse('priority', priority, 'finite number');
}

function isWithin(value: number, most: number): boolean {
  return typeof value === 'number' && value >= 0 && value <= most;
}

/** What callers without types may have given, too. */
function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}
