import type { Millis, Random } from '../../framework/runtime.ts';
import type { Trace, TraceRequest } from './trace.ts';

/** Requests for a pool, simulated or live. */
export interface Workload extends Pick<Trace, 'blockTokens' | 'requests'> {
  /** Whether a turn waits for the answer before it, and then for its pause if the trace has one. */
  readonly closedLoop?: boolean;
}

/** The same requests with times and pauses divided by `factor`. */
export function speedUp(workload: Workload, factor: number): Workload {
  const requests = workload.requests.map((request) => ({
    ...request,
    atMs: request.atMs / factor,
    ...(request.thinkMs !== undefined && { thinkMs: request.thinkMs / factor }),
  }));
  return { ...workload, requests };
}

/**
 * Another draw of the same workload, with which a difference between policies can be told from
 * chance: each request is moved by up to `spreadMs` either way, a conversation as a whole.
 */
export function jittered(workload: Workload, random: Random, spreadMs: Millis): Workload {
  const moves = new Map<string, Millis>();
  const draw = (): Millis => (2 * random.next() - 1) * spreadMs;
  const moveOf = ({ session }: TraceRequest): Millis => {
    if (session === undefined) return draw();
    const move = moves.get(session) ?? draw();
    moves.set(session, move);
    return move;
  };
  const requests = workload.requests
    .map((request) => ({ ...request, atMs: Math.max(0, request.atMs + moveOf(request)) }))
    .sort((a, b) => a.atMs - b.atMs);
  return { ...workload, requests };
}
