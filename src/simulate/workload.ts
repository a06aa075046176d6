import type { Millis, Random } from '../framework/runtime.ts';

/** One request as a trace tells it: sizes and identities, no text. */
export interface WorkloadRequest {
  /** Since the workload began. Never less than that of the request before. */
  readonly atMs: Millis;
  /** A model or an adapter. */
  readonly model: string;
  readonly promptTokens: number;
  /** At least 1. */
  readonly outputTokens: number;
  /** One id for each full block of the prompt; equal ids at equal places are equal text from the start. */
  readonly blockIds: readonly (number | string)[];
}

export interface Workload {
  /** Of each id in `blockIds`. */
  readonly blockTokens: number;
  readonly requests: readonly WorkloadRequest[];
}

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
