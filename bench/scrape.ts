import { setTimeout as sleep } from 'node:timers/promises';
import { metricsSource } from '../src/endpoints/scraping/metrics-source.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { EndpointPool } from '../src/picker/pool/endpoint-pool.ts';
import { createRealRuntime } from '../src/runtime/real-runtime.ts';
import { addressesOf, startUpstream } from './load/bed.ts';
import { parseOptions } from './support/parse-options.ts';

/** Measures the CPU of scraping: `npm run bench -- scrape [seconds] [endpoints,endpoints,…]`. */

/** Connections are opened and code is compiled in this time. */
const WARM_UP_MS = 2000;

interface ScrapeCost {
  /** CPU of this process over wall time: 1 is one core. */
  readonly cores: number;
  readonly scrapesPerSecond: number;
  readonly cpuMicrosPerScrape: number;
  /** Age of the oldest sample of any endpoint at the end. */
  readonly oldestSampleMs: number;
}

/** Scrapes model servers of another process and measures the CPU of this process. */
async function measureScrape(addresses: readonly string[], seconds: number): Promise<ScrapeCost> {
  const runtime = createRealRuntime({ seed: 1 });
  const pool = new EndpointPool();
  let samples = 0;
  pool.observeEndpoints({
    onEndpointChanged: (endpoint, previous) => {
      if (endpoint.metrics !== previous.metrics) samples += 1;
    },
  });
  const source = metricsSource.start(metricsSource.config.parse({ interval: 'adaptive' }), {
    name: 'metrics',
    pool,
    runtime,
  });
  pool.observeEndpoints(source);
  for (const address of addresses) {
    pool.upsert({ id: address as EndpointId, address, labels: new Map() });
  }
  await sleep(WARM_UP_MS);
  samples = 0;
  const from = runtime.clock.now();
  const cpu = process.cpuUsage();
  await sleep(seconds * 1000);
  const used = process.cpuUsage(cpu);
  const now = runtime.clock.now();
  const elapsedMs = now - from;
  const cpuMicros = used.user + used.system;
  const ages = pool.snapshot().map(({ metrics }) => now - metrics.sampledAt);
  source.stop();
  await runtime.network.close();
  return {
    cores: cpuMicros / 1000 / elapsedMs,
    scrapesPerSecond: (samples / elapsedMs) * 1000,
    cpuMicrosPerScrape: cpuMicros / samples,
    oldestSampleMs: Math.max(...ages),
  };
}

const HELP = `npm run bench -- scrape [seconds] [endpoints,endpoints,…]

Measures the CPU of scraping 8, 64 and 256 endpoints, without requests, for 10 s each.
`;
const { positionals } = parseOptions({ allowPositionals: true }, HELP);
const seconds = Number(positionals[0] ?? 10);
const counts = positionals[1]?.split(',').map(Number) ?? [8, 64, 256];
console.log('endpoints         cores   scrapes/s   CPU µs/scrape   oldest sample ms');
for (const endpoints of counts) {
  for (const page of ['real', 'real-idle'] as const) {
    const servers = { endpoints, page, answerChunks: 0 };
    const upstream = await startUpstream(servers, { log: console.error });
    try {
      const cost = await measureScrape(addressesOf(upstream), seconds);
      const cells = [
        `${endpoints} ${page === 'real' ? 'busy' : 'idle'}`.padStart(9),
        cost.cores.toFixed(3).padStart(12),
        cost.scrapesPerSecond.toFixed(0).padStart(11),
        cost.cpuMicrosPerScrape.toFixed(0).padStart(15),
        cost.oldestSampleMs.toFixed(0).padStart(18),
      ];
      console.log(cells.join(' '));
    } finally {
      await upstream.stop();
    }
  }
}
