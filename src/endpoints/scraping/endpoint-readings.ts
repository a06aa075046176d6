import type { EndpointId, EndpointMetrics } from '../../framework/endpoint.ts';
import {
  CACHE_CONFIG,
  CUSTOM_METRICS,
  ENGINE_COUNT,
  LORA,
  STARTED_AT,
} from '../../framework/endpoint-attributes.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';
import { JoinedSources, type SourcePart } from './joined-sources.ts';
import {
  type DatedReading,
  hasLoad,
  joinReadings,
  type PageReading,
  sameValues,
} from './page/reading.ts';

/**
 * Where a source puts what it reads of one endpoint. `take` returns the load that the endpoint has
 * now; undefined where none is known.
 */
export type ReadingSink = SourcePart<DatedReading, EndpointMetrics | undefined>;

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

/** Writes what several sources read of one endpoint into its pool. */
function joinedWriter(
  pool: EndpointWriter,
  id: EndpointId,
): (read: readonly DatedReading[]) => EndpointMetrics | undefined {
  const writer = new ReadingWriter(pool, id);
  let custom = CUSTOM_METRICS.initial;
  return (read) => {
    const joined = joinReadings(read);
    if (joined === undefined) return undefined;
    const { reading, sampledAt } = joined;
    if (!sameValues(reading.custom, custom)) custom = reading.custom;
    return writer.take({ reading: { ...reading, custom }, sampledAt });
  };
}

const joinedReadings = new JoinedSources(joinedWriter);

/** Where one of several sources of a pool puts what it reads of an endpoint. */
export function sharedSink(pool: EndpointWriter, id: EndpointId, order?: number): ReadingSink {
  return joinedReadings.join(pool, id, order);
}
