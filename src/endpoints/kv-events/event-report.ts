import type { Endpoint } from '../../framework/endpoint.ts';
import type { Observer } from '../../framework/observer.ts';
import type { EndpointEvents } from './endpoint-events.ts';
import {
  type EventCounts,
  type LeftOut,
  type SkippedEvents,
  STREAM_COUNTS,
  type StreamCount,
} from './health/event-counts.ts';
import { UNUSABLE_ADVICE, UNUSABLE_REASONS, type UnusableReason } from './health/event-health.ts';
import { PrecisePrefixIndex } from './precise-prefix-producer.ts';
import type { PromptSource } from './precise-prompts.ts';

/** What the streams of one endpoint's KV events have brought. */
interface EndpointEventReport {
  readonly endpoint: string;
  readonly messages: number;
  readonly reconnections: number;
  /** Failures of its sockets, by operation. */
  readonly socketFailures: Readonly<Record<string, number>>;
}

/** Undefined where no plugin of the picker takes KV events. */
export function eventReport(
  observers: readonly Observer[],
  endpoints: readonly Endpoint[],
): EventReport | undefined {
  const indexes = preciseIndexes(observers);
  return indexes.length === 0 ? undefined : new EventReport(indexes, endpoints);
}

/** The KV events of a picker, all its indexes together. Works out only what is read of it. */
class EventReport {
  readonly #indexes: readonly PrecisePrefixIndex[];
  readonly #endpoints: readonly Endpoint[];

  constructor(indexes: readonly PrecisePrefixIndex[], endpoints: readonly Endpoint[]) {
    this.#indexes = indexes;
    this.#endpoints = endpoints;
  }

  get endpoints(): readonly EndpointEventReport[] {
    return endpointReports(this.#streams);
  }

  get admissions(): number {
    return sum(this.#totals, (total) => total.admissions);
  }

  get evictions(): number {
    return sum(this.#totals, (total) => total.evictions);
  }

  get removalsSuppressed(): number {
    return sum(this.#totals, (total) => total.removalsSuppressed);
  }

  get removalsForwarded(): number {
    return sum(this.#totals, (total) => total.removalsForwarded);
  }

  get storesSkipped(): readonly LeftOut[] {
    return merged(this.#totals.map((total) => total.storesSkipped));
  }

  get removalsSkipped(): readonly LeftOut[] {
    return merged(this.#totals.map((total) => total.removalsSkipped));
  }

  get lookups(): number {
    return sum(this.#indexes, (index) => index.matches.precise);
  }

  get lookupHits(): number {
    return sum(this.#indexes, (index) => index.matches.hits);
  }

  /** Prompts by where their tokens came from, or why they have none. */
  get prompts(): ReadonlyMap<PromptSource, number> {
    const counts = new Map<PromptSource, number>();
    for (const { prompts } of this.#indexes)
      for (const [source, count] of prompts.counts)
        counts.set(source, count + (counts.get(source) ?? 0));
    return counts;
  }

  /** Sockets that wait for events, connected or not. */
  get subscribers(): number {
    const connecting = this.#streams.filter(({ events }) => events.address !== undefined);
    return this.bindFailures.size + connecting.length;
  }

  /** The failures to listen, by address. */
  get bindFailures(): ReadonlyMap<string, number> {
    return new Map(
      this.#indexes.flatMap(({ subscriptions: { bindAddress: address, bindFailures } }) =>
        address === undefined ? [] : [[address, bindFailures] as const],
      ),
    );
  }

  /** Messages that wait for a replay. */
  get held(): number {
    return sum(this.#streams, ({ events }) => events.held);
  }

  get streams(): Readonly<Record<StreamCount, number>> {
    return streamCounts(this.#totals, this.#streams);
  }

  /** Endpoints whose events cannot be used now, by reason. */
  get unusable(): ReadonlyMap<UnusableReason, number> {
    return unusableCounts(this.#streams);
  }

  get #totals(): readonly EventCounts[] {
    return this.#indexes.map((index) => index.subscriptions.total);
  }

  get #streams(): readonly EndpointStream[] {
    return this.#indexes.flatMap((index) => streamsOf(index, this.#endpoints));
  }
}

/** One line for each pair of labels. */
function merged(skipped: readonly SkippedEvents[]): readonly LeftOut[] {
  const [only, ...others] = skipped;
  if (only === undefined || others.length === 0) return [...(only?.entries() ?? [])];
  const lines = new Map<string, LeftOut>();
  for (const entry of skipped.flatMap((each) => [...each.entries()])) {
    const key = `${entry.cacheKind} ${entry.reason}`;
    lines.set(key, { ...entry, count: entry.count + (lines.get(key)?.count ?? 0) });
  }
  return [...lines.values()];
}

interface EndpointStream {
  readonly endpoint: Endpoint;
  readonly events: EndpointEvents;
}

function streamsOf(
  index: PrecisePrefixIndex,
  endpoints: readonly Endpoint[],
): readonly EndpointStream[] {
  return endpoints.flatMap((endpoint) => {
    const events = index.events(endpoint);
    return events === undefined ? [] : [{ endpoint, events }];
  });
}

function preciseIndexes(observers: readonly Observer[]): readonly PrecisePrefixIndex[] {
  return observers.filter((observer) => observer instanceof PrecisePrefixIndex);
}

/** An endpoint of two indexes has one line in the metrics. */
function endpointReports(streams: readonly EndpointStream[]): readonly EndpointEventReport[] {
  const reports = new Map<string, EndpointEventReport>();
  for (const { endpoint, events } of streams) {
    const before = reports.get(endpoint.id);
    const { stats, socketFailures } = events;
    const failures = Object.entries(socketFailures).map(([operation, count]) => [
      operation,
      count + (before?.socketFailures[operation] ?? 0),
    ]);
    reports.set(endpoint.id, {
      endpoint: endpoint.id,
      messages: stats.messages + (before?.messages ?? 0),
      reconnections: stats.reconnections + (before?.reconnections ?? 0),
      socketFailures: Object.fromEntries(failures) as Record<string, number>,
    });
  }
  return [...reports.values()];
}

function streamCounts(
  totals: readonly EventCounts[],
  streams: readonly EndpointStream[],
): Record<StreamCount, number> {
  const counts = STREAM_COUNTS.map((name) => [
    name,
    sum(totals, ({ left }) => left[name]) + sum(streams, ({ events }) => events.stats[name]),
  ]);
  return Object.fromEntries(counts) as Record<StreamCount, number>;
}

function unusableCounts(streams: readonly EndpointStream[]): ReadonlyMap<UnusableReason, number> {
  const counts = new Map<UnusableReason, number>(UNUSABLE_REASONS.map((reason) => [reason, 0]));
  for (const { events } of streams) {
    const { problem } = events.stats.health;
    if (problem !== undefined) counts.set(problem, (counts.get(problem) ?? 0) + 1);
  }
  return counts;
}

function sum<T>(values: readonly T[], read: (value: T) => number): number {
  return values.reduce((total, value) => total + read(value), 0);
}

/** How the KV events of an endpoint go, as JSON for people; undefined where none are taken. */
export function describeEvents(observers: readonly Observer[], endpoint: Endpoint): unknown {
  const streams = preciseIndexes(observers).flatMap((index) => streamsOf(index, [endpoint]));
  return streams.length === 0 ? undefined : streams.map(({ events }) => describeStream(events));
}

function describeStream({ address, model, stats, view, held }: EndpointEvents): unknown {
  const { problem, unusable } = stats.health;
  return {
    address: address?.events ?? 'the publisher connects to the picker',
    replayAddress: address?.replay,
    known: view.knowledge,
    model,
    blockTokens: view.blockTokens,
    blocks: view.blocks.size,
    messages: stats.messages,
    ...Object.fromEntries(STREAM_COUNTS.map((name) => [name, stats[name]])),
    reconnections: stats.reconnections,
    held,
    unusableEvents: Object.fromEntries(unusable),
    problem: problem && { reason: problem, advice: UNUSABLE_ADVICE[problem] },
  };
}
