import type { Millis, Random } from '../../framework/runtime.ts';
import { MovedRequests } from './moved-requests.ts';
import { sizesIn } from './request-table.ts';
import type { TraceContent, TraceRequest } from './trace.ts';

/** Requests for a pool, simulated or live. */
export interface WorkloadContent extends Pick<TraceContent, 'blockTokens' | 'requests'> {
  /** Whether a turn waits for the answer before it, and then for its pause if the trace has one. */
  readonly closedLoop?: boolean;
}

/** A workload whose requests are all in memory. */
export interface Workload extends WorkloadContent {
  readonly requests: readonly TraceRequest[];
}

/** The same workload with all its requests in memory. */
export function inMemory(workload: WorkloadContent): Workload {
  return { ...workload, requests: [...workload.requests] };
}

/** The same requests with times and pauses divided by `factor`. */
export function speedUp(workload: WorkloadContent, factor: number): WorkloadContent {
  if (factor === 1) return workload;
  const faster = (request: TraceRequest): TraceRequest => ({
    ...request,
    atMs: request.atMs / factor,
    ...(request.thinkMs !== undefined && { thinkMs: request.thinkMs / factor }),
  });
  return { ...workload, requests: new MovedRequests(workload.requests, faster) };
}

/**
 * Another draw of the same workload, with which a difference between policies can be told from
 * chance: each request is moved by up to `spreadMs` either way, a conversation as a whole.
 */
export function jittered(
  workload: WorkloadContent,
  random: Random,
  spreadMs: Millis,
): WorkloadContent {
  const moves = new Map<string, Millis>();
  const draw = (): Millis => (2 * random.next() - 1) * spreadMs;
  const moveOf = ({ session }: TraceRequest): Millis => {
    if (session === undefined) return draw();
    const move = moves.get(session) ?? draw();
    moves.set(session, move);
    return move;
  };
  const atMs = Float64Array.from(sizesIn(workload.requests), (request) =>
    Math.max(0, request.atMs + moveOf(request)),
  );
  const order = Uint32Array.from(atMs, (_, place) => place);
  // Requests that arrive together keep their order.
  order.sort((a, b) => (atMs[a] as number) - (atMs[b] as number) || a - b);
  const moved = (request: TraceRequest, place: number): TraceRequest => ({
    ...request,
    atMs: atMs[place] as number,
  });
  return { ...workload, requests: new MovedRequests(workload.requests, moved, order) };
}
