import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, type CacheConfig, LORA, type LoraState } from '../../framework/keys.ts';
import {
  type DataSource,
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
} from '../../framework/plugin.ts';
import type { Millis, Timer } from '../../framework/runtime.ts';
import { mappingsFor } from './core-metrics-extractor.ts';
import { PageReader, type PageReading } from './engine-metrics.ts';

/** A vLLM page with every histogram of many models is under 1 MiB. */
const PAGE_BYTES_MAX = 8 * 1024 * 1024;
/** Each scrape comes up to this share of the interval early or late, so that endpoints never fall into step. */
const JITTER = 0.1;
/** An endpoint that does not answer is asked less often, but often enough to be back within a second. */
const BACKOFF_MAX_MS = 1000;

interface MetricsConfig {
  readonly scheme: 'http' | 'https';
  readonly path: string;
  readonly port?: number | undefined;
  readonly interval: Millis;
  readonly timeout: Millis;
}

const duration = z.union([
  z.number().positive(),
  z
    .string()
    .regex(/^\d+(\.\d+)?(ms|s)$/, 'must be a duration such as 50ms or 1s')
    .transform((text) => Number.parseFloat(text) * (text.endsWith('ms') ? 1 : 1000)),
]);

const config = z.strictObject({
  scheme: z.enum(['http', 'https']).default('http'),
  path: z.string().startsWith('/').default('/metrics'),
  port: z.int().min(1).max(65_535).optional(),
  /** A number is milliseconds. */
  interval: duration.default(50),
  timeout: duration.default(1000),
  insecureSkipVerify: z
    .literal(true, 'verifying certificates of scraped pages is not supported')
    .optional(),
});

/**
 * Scrapes each endpoint's metrics page at an interval, on a schedule of its own and never twice at once, so that a
 * slow or dead one delays nobody. A sample counts from when its scrape was sent.
 */
export const metricsSource: DataSourceDefinition = defineDataSource<MetricsConfig>({
  type: 'metrics-data-source',
  config,
  start: (parsed, host) => new MetricsSource(parsed, host),
});

class MetricsSource implements DataSource {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #scrapers = new Map<Endpoint['id'], Scraper>();

  constructor(parsed: MetricsConfig, host: DataSourceHost) {
    this.#config = parsed;
    this.#host = host;
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#scrapers.set(endpoint.id, new Scraper(this.#config, this.#host, endpoint));
  }

  onEndpointRemoved({ id }: Endpoint): void {
    this.#scrapers.get(id)?.stop();
    this.#scrapers.delete(id);
  }

  stop(): void {
    for (const scraper of this.#scrapers.values()) scraper.stop();
    this.#scrapers.clear();
  }
}

class Scraper {
  readonly #config: MetricsConfig;
  readonly #host: DataSourceHost;
  readonly #endpoint: Endpoint;
  readonly #url: URL;
  #reader: PageReader | undefined;
  #candidates: readonly PageReader[];
  #failures = 0;
  #timer: Timer;
  #stopped = false;
  #cache: CacheConfig | undefined;
  #lora: LoraState | undefined;

  constructor(parsed: MetricsConfig, host: DataSourceHost, endpoint: Endpoint) {
    this.#config = parsed;
    this.#host = host;
    this.#endpoint = endpoint;
    this.#url = scrapeUrl(parsed, endpoint.address);
    this.#candidates = [];
    this.#timer = host.runtime.clock.setTimer(0, () => void this.#scrape());
  }

  stop(): void {
    this.#stopped = true;
    this.#timer.cancel();
  }

  async #scrape(): Promise<void> {
    const { clock, network } = this.#host.runtime;
    const sampledAt = clock.now();
    try {
      const { status, body } = await network.get(this.#url, {
        timeoutMs: this.#config.timeout,
        bodyBytesMax: PAGE_BYTES_MAX,
      });
      if (this.#stopped) return;
      if (status === 200) this.#take(asBuffer(body), sampledAt);
      this.#failures = status === 200 ? 0 : this.#failures + 1;
    } catch {
      // The sample's age tells scorers all there is to know of a missed scrape.
      this.#failures += 1;
    }
    if (!this.#stopped) this.#schedule(sampledAt);
  }

  /** Counted from when the last one was sent: a slow answer does not stretch the interval. */
  #schedule(sentAt: Millis): void {
    const { clock, random } = this.#host.runtime;
    const { interval } = this.#config;
    const wanted = Math.min(
      Math.max(BACKOFF_MAX_MS, interval),
      interval * 2 ** Math.min(this.#failures, 10),
    );
    const jittered = wanted * (1 + JITTER * (2 * random.next() - 1));
    const elapsed = clock.now() - sentAt;
    this.#timer = clock.setTimer(Math.max(0, jittered - elapsed), () => void this.#scrape());
  }

  #take(page: Buffer, sampledAt: Millis): void {
    const reading = this.#read(page);
    if (reading === undefined) return;
    const { pool } = this.#host;
    const { id } = this.#endpoint;
    pool.observe(id, {
      waitingQueueSize: reading.waiting ?? 0,
      runningRequests: reading.running ?? 0,
      kvCacheUsage: Math.min(1, reading.kvUsage ?? 0),
      sampledAt,
    });
    if (reading.cache !== undefined && !sameCache(reading.cache, this.#cache)) {
      this.#cache = reading.cache;
      pool.set(id, CACHE_CONFIG, reading.cache);
    }
    if (reading.lora !== undefined && !sameLora(reading.lora, this.#lora)) {
      this.#lora = reading.lora;
      pool.set(id, LORA, reading.lora);
    }
  }

  /** The first mapping that finds anything on the page is this endpoint's engine from then on. */
  #read(page: Buffer): PageReading | undefined {
    if (this.#reader !== undefined) return known(this.#reader.read(page));
    if (this.#candidates.length === 0) {
      const mappings = mappingsFor(this.#host.pool, this.#endpoint);
      this.#candidates = mappings.map((mapping) => new PageReader(mapping));
    }
    for (const candidate of this.#candidates) {
      const reading = known(candidate.read(page));
      if (reading === undefined) continue;
      this.#reader = candidate;
      this.#candidates = [];
      return reading;
    }
    return undefined;
  }
}

/** A page that says nothing of load is no sample: the endpoint stays unknown rather than seem idle. */
function known(reading: PageReading): PageReading | undefined {
  const silent =
    reading.waiting === undefined && reading.running === undefined && reading.kvUsage === undefined;
  return silent ? undefined : reading;
}

function scrapeUrl({ scheme, path, port }: MetricsConfig, address: string): URL {
  const url = new URL(`${scheme}://${address}${path}`);
  if (port !== undefined) url.port = String(port);
  return url;
}

function asBuffer(body: Uint8Array): Buffer {
  return Buffer.isBuffer(body) ? body : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
}

function sameCache(a: CacheConfig, b: CacheConfig | undefined): boolean {
  return a.blocks === b?.blocks && a.blockTokens === b.blockTokens;
}

function sameLora(a: LoraState, b: LoraState | undefined): boolean {
  return (
    b !== undefined &&
    a.max === b.max &&
    sameSet(a.running, b.running) &&
    sameSet(a.waiting, b.waiting)
  );
}

function sameSet(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...a].every((each) => b.has(each));
}
