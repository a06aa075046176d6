import type { Outcome } from '../../framework/observer.ts';
import { SessionFinder } from '../../lab/traces/find-sessions.ts';
import { RequestTable } from '../../lab/traces/request-table.ts';
import {
  type RecordedEnd,
  readingOf,
  type TraceContent,
  type TraceReading,
  type TraceRequest,
} from '../../lab/traces/trace.ts';
import { ArrivalCounts, type ArrivalTimes } from './arrival-times.ts';
import { SessionCounts, type Sessions } from './session-counts.ts';
import { PrefixSums, type SharedPrefixes } from './shared-prefixes.ts';
import { type Spread, SpreadCounts, SpreadValues } from './spread.ts';

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

export interface Counted {
  readonly name: string;
  readonly requests: number;
}

/** Takes one request after another, because those of a large trace do not fit into memory at once. */
export function describeTrace(trace: TraceContent): TraceDescription {
  const table = RequestTable.of(trace.requests);
  const sums = new DescriptionSums(table, trace.blockTokens);
  for (const request of table.withoutBlocks()) sums.add(request);
  return {
    ...readingOf(trace, table.withoutBlocks()),
    ...sums.description(),
    // One after the other, because each needs room for its values.
    ttftMs: spreadOf(table, ({ ttftMs }) => ttftMs),
    e2eMs: spreadOf(table, ({ e2eMs }) => e2eMs),
  };
}

class DescriptionSums {
  readonly #arrivals = new ArrivalCounts();
  readonly #finder: SessionFinder;
  readonly #prefixes: PrefixSums;
  readonly #sessions: SessionCounts;
  readonly #promptTokens = new SpreadCounts();
  readonly #outputTokens = new SpreadCounts();
  readonly #counts = {
    models: new Map<string, number>(),
    priorities: new Map<string, number>(),
    fairnessIds: new Map<string, number>(),
    outcomes: new Map<string, number>(),
  };

  constructor(table: RequestTable, blockTokens: number) {
    this.#finder = new SessionFinder(table);
    this.#prefixes = new PrefixSums(blockTokens);
    this.#sessions = new SessionCounts(table.length);
  }

  add(request: TraceRequest): void {
    const { atMs, model, priority, fairnessId, seen } = request;
    this.#arrivals.add(atMs);
    const { session, knownBlocks } = this.#finder.next(request);
    this.#prefixes.add(request, knownBlocks);
    this.#sessions.add(request, session);
    this.#promptTokens.add(request.promptTokens);
    this.#outputTokens.add(request.outputTokens);
    const { models, priorities, fairnessIds, outcomes } = this.#counts;
    count(models, model === '' ? undefined : model);
    count(priorities, priority);
    count(fairnessIds, fairnessId);
    count(outcomes, seen?.outcome);
  }

  description(): Omit<TraceDescription, keyof TraceReading | 'ttftMs' | 'e2eMs'> {
    const { models, priorities, fairnessIds, outcomes } = this.#counts;
    return {
      promptTokens: this.#promptTokens.spread() ?? NOTHING,
      outputTokens: this.#outputTokens.spread() ?? NOTHING,
      arrivals: this.#arrivals.times(),
      prefixes: this.#prefixes.of(this.#finder.distinctBlocks),
      sessions: this.#sessions.sessions(this.#finder.distinctBlocks > 0),
      models: mostFirst(models),
      priorities: mostFirst(priorities),
      fairnessIds: mostFirst(fairnessIds),
      outcomes: Object.fromEntries(mostFirst(outcomes).map((each) => [each.name, each.requests])),
    };
  }
}

function spreadOf(
  table: RequestTable,
  read: (seen: RecordedEnd) => number | undefined,
): Spread | undefined {
  const values = new SpreadValues(table.length);
  for (const { seen } of table.withoutBlocks()) {
    if (seen !== undefined) values.add(read(seen));
  }
  return values.spread();
}

const NOTHING: Spread = { count: 0, mean: 0, min: 0, p50: 0, p90: 0, p99: 0, max: 0 };

function count(counts: Map<string, number>, key: string | number | undefined): void {
  if (key === undefined) return;
  const name = String(key);
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

function mostFirst(counts: ReadonlyMap<string, number>): readonly Counted[] {
  return [...counts]
    .map(([name, requests]) => ({ name, requests }))
    .sort((one, other) => other.requests - one.requests);
}
