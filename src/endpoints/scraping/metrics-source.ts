import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import {
  type DataSource,
  type DataSourceDefinition,
  type DataSourceHost,
  defineDataSource,
} from '../../framework/plugin.ts';
import type { Millis, Random } from '../../framework/runtime.ts';
import { type MetricsConfig, Scraper } from './scraper.ts';

/** The reference's default and least interval. */
const INTERVAL_MS = 50;
/** As long as the reference waits. */
const TIMEOUT_MS = 1000;
/** Scraping more often than this tells nothing new: engines update their gauges once a step. */
const INTERVAL_MS_MIN = 10;

const duration = z.union(
  [
    z.number(),
    z
      .string()
      .regex(/^\d+(\.\d+)?(ms|s|m)$/)
      .transform(durationMs),
  ],
  'must be a duration such as 50ms or 1s, or a number of milliseconds',
);

const config = z.strictObject({
  scheme: z.enum(['http', 'https']).default('http'),
  path: z.string().startsWith('/').default('/metrics'),
  port: z.int().min(1).max(65_535).optional(),
  interval: duration.pipe(z.number().min(INTERVAL_MS_MIN)).default(INTERVAL_MS),
  timeout: duration.pipe(z.number().positive()).default(TIMEOUT_MS),
  insecureSkipVerify: z
    .literal(true, 'verifying certificates of scraped pages is not supported: leave it out or true')
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
  readonly #random: Random;
  readonly #scrapers = new Map<Endpoint['id'], Scraper>();

  constructor(parsed: MetricsConfig, host: DataSourceHost) {
    this.#config = parsed;
    this.#host = host;
    this.#random = host.runtime.random.fork(host.name);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    const random = this.#random.fork(endpoint.id);
    this.#scrapers.set(
      endpoint.id,
      new Scraper({ config: this.#config, host: this.#host, random, endpoint }),
    );
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    // Nearly every change is one of our own samples.
    if (endpoint.labels !== previous.labels) this.#scrapers.get(endpoint.id)?.relabel(endpoint);
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

function durationMs(text: string): Millis {
  const factor = text.endsWith('ms') ? 1 : text.endsWith('s') ? 1000 : 60_000;
  return Number.parseFloat(text) * factor;
}
