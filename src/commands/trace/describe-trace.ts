import type { Outcome } from '../../framework/observer.ts';
import { mean, quantile, sorted } from '../../lab/run-summary/statistics.ts';
import { withSessions } from '../../lab/traces/find-sessions.ts';
import {
  readingOf,
  type Trace,
  type TraceReading,
  type TraceRequest,
} from '../../lab/traces/trace.ts';
import { type ArrivalTimes, arrivalTimesOf } from './arrival-times.ts';
import { type SharedPrefixes, sharedPrefixesOf } from './shared-prefixes.ts';

/** What a trace holds, as far as it says. */
export interface TraceDescription extends TraceReading {
  readonly promptTokens: Spread;
  readonly outputTokens: Spread;
  /** Undefined for a single moment, in which there is no rate. */
  readonly arrivals: ArrivalTimes | undefined;
  /** Undefined where no request has blocks: then nothing is known of what prompts share. */
  readonly prefixes: SharedPrefixes | undefined;
  /** Undefined where the trace names none and none can be found. */
  readonly sessions: Sessions | undefined;
  /** The most frequent first; empty where the trace names none. */
  readonly models: readonly Counted[];
  readonly priorities: readonly Counted[];
  readonly fairnessIds: readonly Counted[];
  /** What became of the requests when they were recorded; empty where the trace does not say. */
  readonly outcomes: Partial<Record<Outcome, number>>;
  /** From the arrival, of those that have it. */
  readonly ttftMs: Spread | undefined;
  readonly e2eMs: Spread | undefined;
}

/** How values are spread. */
export interface Spread {
  readonly count: number;
  readonly mean: number;
  readonly min: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

interface Sessions {
  /** Named by the trace, or found: a prompt that continues an earlier one is its next turn. */
  readonly by: 'trace' | 'prompts';
  readonly count: number;
  /** Those with more than one request. */
  readonly ofSeveral: number;
  /** Requests of a session. */
  readonly turns: Spread;
}

export interface Counted {
  readonly name: string;
  readonly requests: number;
}

export function describeTrace(trace: Trace): TraceDescription {
  const { requests } = trace;
  const of = (read: (request: TraceRequest) => number | undefined): Spread | undefined =>
    spreadOf(requests.flatMap((request) => read(request) ?? []));
  return {
    ...readingOf(trace),
    promptTokens: spreadOf(requests.map(({ promptTokens }) => promptTokens)) ?? NOTHING,
    outputTokens: spreadOf(requests.map(({ outputTokens }) => outputTokens)) ?? NOTHING,
    arrivals: arrivalTimesOf(requests),
    prefixes: sharedPrefixesOf(trace),
    sessions: sessionsOf(trace),
    models: countedBy(requests, ({ model }) => (model === '' ? undefined : model)),
    priorities: countedBy(requests, ({ priority }) => priority),
    fairnessIds: countedBy(requests, ({ fairnessId }) => fairnessId),
    outcomes: Object.fromEntries(
      countedBy(requests, ({ seen }) => seen?.outcome).map(({ name, requests: n }) => [name, n]),
    ),
    ttftMs: of(({ seen }) => seen?.ttftMs),
    e2eMs: of(({ seen }) => seen?.e2eMs),
  };
}

const NOTHING: Spread = { count: 0, mean: 0, min: 0, p50: 0, p90: 0, p99: 0, max: 0 };

/** Undefined where there is no value. */
function spreadOf(values: ArrayLike<number>): Spread | undefined {
  if (values.length === 0) return undefined;
  const inOrder = sorted(values);
  const at = (share: number): number => quantile(inOrder, share);
  const [min, max] = [at(0), at(1)];
  const shares = { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
  return { count: values.length, mean: mean(values), min, ...shares, max };
}

function sessionsOf(trace: Trace): Sessions | undefined {
  const named = trace.requests.some(({ session }) => session !== undefined);
  if (!named && trace.requests.every(({ blockIds }) => blockIds.length === 0)) return undefined;
  const { requests } = named ? trace : withSessions(trace);
  const turns = countedBy(requests, ({ session }) => session).map(({ requests: n }) => n);
  const spread = spreadOf(turns);
  const ofSeveral = turns.filter((count) => count > 1).length;
  return (
    spread && { by: named ? 'trace' : 'prompts', count: turns.length, ofSeveral, turns: spread }
  );
}

function countedBy(
  requests: readonly TraceRequest[],
  read: (request: TraceRequest) => string | number | undefined,
): readonly Counted[] {
  const counts = new Map<string, number>();
  for (const request of requests) {
    const key = read(request);
    if (key !== undefined) counts.set(String(key), (counts.get(String(key)) ?? 0) + 1);
  }
  return [...counts]
    .map(([name, count]) => ({ name, requests: count }))
    .sort((one, other) => other.requests - one.requests);
}
