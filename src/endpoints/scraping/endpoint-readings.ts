import {
  CACHE_CONFIG,
  CUSTOM_METRICS,
  ENGINE_COUNT,
  LORA,
  STARTED_AT,
} from '../../framework/attributes.ts';
import type { EndpointId, EndpointMetrics } from '../../framework/endpoint.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';
import {
  type DatedReading,
  hasLoad,
  joinReadings,
  type PageReading,
  sameValues,
} from './page/reading.ts';

/** Where a source puts what it reads of one endpoint. */
export interface ReadingSink {
  /** Returns the load that the endpoint has now; undefined where none is known. */
  take(dated: DatedReading): EndpointMetrics | undefined;
  /** The last page could not be read. */
  failed(): void;
  /** The source reads no more. */
  leave(): void;
}

/** Writes what is read of one endpoint into its pool. */
export class ReadingWriter implements ReadingSink {
  readonly #pool: EndpointWriter;
  readonly #id: EndpointId;
  #last: PageReading | undefined;

  constructor(pool: EndpointWriter, id: EndpointId) {
    this.#pool = pool;
    this.#id = id;
  }

  take({ reading, sampledAt }: DatedReading): EndpointMetrics | undefined {
    const pool = this.#pool;
    const id = this.#id;
    // Without a load the endpoint's must stay unknown, not become 0.
    const metrics = hasLoad(reading) ? loadOf(reading, sampledAt) : undefined;
    if (metrics !== undefined) pool.observe(id, metrics);
    const engines = reading.engines ?? ENGINE_COUNT.initial;
    if (engines !== (this.#last?.engines ?? ENGINE_COUNT.initial))
      pool.set(id, ENGINE_COUNT, engines);
    if (reading.cache !== this.#last?.cache) pool.set(id, CACHE_CONFIG, reading.cache);
    if (reading.lora !== this.#last?.lora) pool.set(id, LORA, reading.lora);
    if (reading.startedAtS !== this.#last?.startedAtS) {
      pool.set(id, STARTED_AT, reading.startedAtS);
    }
    if (reading.custom !== (this.#last?.custom ?? CUSTOM_METRICS.initial)) {
      pool.set(id, CUSTOM_METRICS, reading.custom);
    }
    this.#last = reading;
    return metrics;
  }

  /** Scorers see a missed scrape by the age of the last sample. */
  failed(): void {}

  leave(): void {}
}

function loadOf(reading: PageReading, sampledAt: number): EndpointMetrics {
  return {
    waitingQueueSize: reading.waiting ?? 0,
    runningRequests: reading.running ?? 0,
    kvCacheUsage: reading.kvUsage ?? 0,
    sampledAt,
  };
}

/** What several sources read of one endpoint. */
class JoinedReadings {
  readonly #writer: ReadingWriter;
  /** In the order in which they started, which is that of the configuration. */
  readonly #parts = new Set<Part>();
  #custom = CUSTOM_METRICS.initial;

  constructor(pool: EndpointWriter, id: EndpointId) {
    this.#writer = new ReadingWriter(pool, id);
  }

  /** A sink for one source. `onEmpty` is called when the last one has left. */
  part(onEmpty: () => void): ReadingSink {
    const part: Part = { dated: undefined, hasFailed: false };
    this.#parts.add(part);
    return {
      take: (dated) => {
        part.dated = dated;
        part.hasFailed = false;
        return this.#write();
      },
      failed: () => {
        part.hasFailed = true;
      },
      leave: () => {
        this.#parts.delete(part);
        if (this.#parts.size === 0) onEmpty();
      },
    };
  }

  #write(): EndpointMetrics | undefined {
    const parts = [...this.#parts];
    const inOrder = [
      ...parts.filter(({ hasFailed }) => !hasFailed),
      ...parts.filter(({ hasFailed }) => hasFailed),
    ];
    const joined = joinReadings(inOrder.flatMap(({ dated }) => dated ?? []));
    if (joined === undefined) return undefined;
    const { reading, sampledAt } = joined;
    if (!sameValues(reading.custom, this.#custom)) this.#custom = reading.custom;
    return this.#writer.take({ reading: { ...reading, custom: this.#custom }, sampledAt });
  }
}

interface Part {
  dated: DatedReading | undefined;
  /** Then what the other sources have counts first. */
  hasFailed: boolean;
}

const joinedOf = new WeakMap<EndpointWriter, Map<EndpointId, JoinedReadings>>();

/** Where one of several sources of a pool puts what it reads of an endpoint. */
export function sharedSink(pool: EndpointWriter, id: EndpointId): ReadingSink {
  const byEndpoint = joinedOf.get(pool) ?? new Map<EndpointId, JoinedReadings>();
  joinedOf.set(pool, byEndpoint);
  const joined = byEndpoint.get(id) ?? new JoinedReadings(pool, id);
  byEndpoint.set(id, joined);
  return joined.part(() => byEndpoint.delete(id));
}
