import type { Millis, Random } from '../framework/runtime.ts';
import type { Trace } from '../traces/trace.ts';

/** What a simulated pool is asked. */
export type Workload = Pick<Trace, 'blockTokens' | 'requests'>;

/** Arrivals `factor` times as fast. */
export function speedUp({ blockTokens, requests }: Workload, factor: number): Workload {
  const faster = requests.map((request) => ({ ...request, atMs: request.atMs / factor }));
  return { blockTokens, requests: faster };
}

/**
 * The same requests in the same minutes, each moved by up to `spreadMs` either way: another run of the same day, so that
 * a difference between policies can be told from luck.
 */
export function jittered(workload: Workload, random: Random, spreadMs: Millis): Workload {
  const requests = workload.requests
    .map((request) => ({
      ...request,
      atMs: Math.max(0, request.atMs + (2 * random.next() - 1) * spreadMs),
    }))
    .sort((a, b) => a.atMs - b.atMs);
  return { ...workload, requests };
}
