import { metricsSource } from '../../src/endpoints/scraping/metrics-source.ts';
import { type ScrapeError, scrapeErrorsOf } from '../../src/endpoints/scraping/scrape-errors.ts';
import { type Endpoint, type EndpointId } from '../../src/framework/endpoint.ts';
import type { DataSource } from '../../src/framework/plugin.ts';
import type { Runtime } from '../../src/framework/runtime.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../src/runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { type FakeServer, FakeServers, vllmPage } from './servers/fake-servers.ts';

const SEED = 1;
export const CACHE = 'vllm:cache_config_info{block_size="16",num_gpu_blocks="100"} 1.0';

interface ScrapedPool {
  readonly clock: SimulatedClock;
  readonly network: FakeServers;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  readonly errors: readonly ScrapeError[];
  readonly source: DataSource;
  readonly changes: Endpoint[];
  /** Adds an endpoint and its server, which may be changed while it is scraped. */
  readonly add: (
    address: string,
    server?: Partial<FakeServer>,
    labels?: Readonly<Record<string, string>>,
  ) => FakeServer;
  readonly get: (address: string) => Endpoint;
}

/** A pool whose endpoints are scraped from servers in memory, by a source with these parameters. */
export function scrapedPool(parameters: Readonly<Record<string, unknown>> = {}): ScrapedPool {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const runtime = { clock, random: seededRandom(SEED), network };
  const errors: ScrapeError[] = [];
  scrapeErrorsOf(pool).observe({ onScrapeError: (error) => errors.push(error) });
  const source: DataSource = metricsSource.start(metricsSource.config.parse(parameters), {
    name: 'metrics',
    pool,
    runtime,
  });
  pool.observeEndpoints(source);
  const changes: Endpoint[] = [];
  pool.observeEndpoints({ onEndpointChanged: (endpoint) => changes.push(endpoint) });
  const add = (
    address: string,
    server: Partial<FakeServer> = {},
    labels: Readonly<Record<string, string>> = {},
  ): FakeServer => {
    const full = { delayMs: 1, dead: false, status: 200, page: vllmPage(1), ...server };
    network.servers.set(address, full);
    pool.upsert({ id: address as EndpointId, address, labels: new Map(Object.entries(labels)) });
    return full;
  };
  const get = (address: string): Endpoint => {
    const endpoint = pool.get(address as EndpointId);
    if (endpoint === undefined) throw new Error(`no endpoint ${address}`);
    return endpoint;
  };
  return { clock, network, pool, runtime, errors, source, changes, add, get };
}

/** The times between each and the next. */
export function gaps(times: readonly number[]): readonly number[] {
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}
