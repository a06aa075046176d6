import { ConfigError } from '../../framework/error.ts';
import type { Random } from '../../framework/runtime.ts';
import { withSessions } from './find-sessions.ts';
import { mergeTraces, shifted } from './merge-traces.ts';
import type { Trace, TraceRequest } from './trace.ts';
import { REQUESTS_MAX } from './trace-format.ts';

export interface TraceShape {
  /** Files of traces whose requests are added. */
  readonly merge: readonly string[];
  /** How much later the added traces begin; without any, the trace itself. */
  readonly shiftMs: number;
  /** How many times the trace is repeated. */
  readonly loop: number;
  /** The share of conversations that is kept; above 0, at most 1. */
  readonly thin: number;
  /** The first so many requests of what comes of that; all where it is left out. */
  readonly requests?: number | undefined;
}

/** Whether it changes anything of a trace. */
export function isShaped({ merge, shiftMs, loop, thin, requests }: TraceShape): boolean {
  return merge.length > 0 || shiftMs !== 0 || loop > 1 || thin < 1 || requests !== undefined;
}

/** Merges, repeats, thins, shifts and cuts. Throws ConfigError if no or too many requests remain. */
export function shapeTrace(
  trace: Trace,
  { merged, shape, random }: { merged: readonly Trace[]; shape: TraceShape; random: Random },
): Trace {
  const { shiftMs, loop, thin, requests } = shape;
  const together = mergeTraces([trace, ...merged], shiftMs);
  const thinned = thinTrace(loopTrace(together, loop), thin, random);
  const whole = merged.length > 0 ? thinned : shifted(thinned, shiftMs);
  return { ...whole, requests: whole.requests.slice(0, requests) };
}

/**
 * Repeats a trace. Between two rounds there is the mean time between two requests. Prompts are the
 * same in each round, sessions are not.
 */
export function loopTrace(trace: Trace, times: number): Trace {
  if (times === 1) return trace;
  const { requests } = trace;
  if (requests.length * times > REQUESTS_MAX) {
    const message = `${times} times ${requests.length} requests are more than ${REQUESTS_MAX}; repeat it less often`;
    throw new ConfigError('trace', [{ path: '--loop', message }]);
  }
  const lastMs = requests.at(-1)?.atMs ?? 0;
  const periodMs = lastMs + Math.max(1, lastMs / Math.max(1, requests.length - 1));
  const again = (round: number) => (request: TraceRequest) => ({
    ...request,
    atMs: request.atMs + round * periodMs,
    ...(request.session !== undefined && { session: `${request.session}#${round}` }),
  });
  const rounds = Array.from({ length: times - 1 }, (_, at) => requests.map(again(at + 1)));
  return { ...trace, requests: [requests, ...rounds].flat() };
}

/** Keeps or drops whole conversations, so that their share of cached prompts stays the same. */
export function thinTrace(trace: Trace, share: number, random: Random): Trace {
  if (share === 1) return trace;
  const kept = new Map<string | undefined, boolean>();
  const { requests } = withSessions(trace);
  const left = trace.requests.filter((_, index) => {
    const session = requests[index]?.session;
    const keep = kept.get(session) ?? random.next() < share;
    kept.set(session, keep);
    return keep;
  });
  if (left.length > 0) return { ...trace, requests: left };
  const message = `${share} of ${kept.size} conversations leaves no request; keep a larger share`;
  throw new ConfigError('trace', [{ path: '--thin', message }]);
}
