import type { Millis, Random } from '../../framework/runtime.ts';
import type { Trace, TraceRequest } from './trace.ts';

/** What a simulated pool is asked. */
export interface Workload extends Pick<Trace, 'blockTokens' | 'requests'> {
  /** A turn of a session waits for the answer before it, and then for its pause, where the trace says one. */
  readonly closedLoop?: boolean;
}

/** Arrivals `factor` times as fast, and those who read answers as well. */
export function speedUp(workload: Workload, factor: number): Workload {
  const requests = workload.requests.map((request): TraceRequest => {
    const { atMs, thinkMs } = request;
    const pause = thinkMs === undefined ? {} : { thinkMs: thinkMs / factor };
    return { ...request, atMs: atMs / factor, ...pause };
  });
  return { ...workload, requests };
}

/**
 * The same requests in the same minutes, each moved by up to `spreadMs` either way, and a conversation as a whole: another
 * run of the same day, so that a difference between policies can be told from luck.
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
