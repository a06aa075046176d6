import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { metricsSource } from '../src/endpoints/scraping/metrics-source.ts';
import type { EndpointId } from '../src/framework/endpoint.ts';
import { EndpointPool } from '../src/picker/endpoint-pool.ts';
import { createRealRuntime } from '../src/runtime/real-runtime.ts';

const INTERVAL_MS = 50;
/** Connections made, code compiled. */
const WARM_UP_MS = 2000;

export interface ScrapeCost {
  readonly endpoints: number;
  /** CPU of this process over wall time: 1 is one core. */
  readonly cores: number;
  readonly scrapesPerSecond: number;
  readonly cpuMicrosPerScrape: number;
  /** Oldest sample of any endpoint at the end. */
  readonly oldestSampleMs: number;
}

/** Scrapes `endpoints` servers of one other process at 50 ms and tells what that cost this process. */
export async function measureScrape({
  endpoints,
  seconds,
}: {
  readonly endpoints: number;
  readonly seconds: number;
}): Promise<ScrapeCost> {
  const server = fork(new URL('./page-server.ts', import.meta.url), [String(endpoints)]);
  try {
    const ports = await portsOf(server);
    const runtime = createRealRuntime({ seed: 1 });
    const pool = new EndpointPool();
    let samples = 0;
    pool.observeEndpoints({
      onEndpointChanged: (endpoint, previous) => {
        if (endpoint.metrics !== previous.metrics) samples += 1;
      },
    });
    const source = metricsSource.start(metricsSource.config.parse({ interval: INTERVAL_MS }), {
      name: 'metrics',
      pool,
      runtime,
    });
    pool.observeEndpoints(source);
    for (const port of ports) {
      const address = `127.0.0.1:${port}`;
      pool.upsert({ id: address as EndpointId, address, labels: new Map() });
    }
    await sleep(WARM_UP_MS);
    samples = 0;
    const from = runtime.clock.now();
    const cpu = process.cpuUsage();
    await sleep(seconds * 1000);
    const used = process.cpuUsage(cpu);
    const elapsedMs = runtime.clock.now() - from;
    const cpuMicros = used.user + used.system;
    const now = runtime.clock.now();
    const ages = pool.snapshot().map(({ metrics }) => now - metrics.sampledAt);
    source.stop();
    await runtime.network.close();
    return {
      endpoints,
      cores: cpuMicros / 1000 / elapsedMs,
      scrapesPerSecond: (samples / elapsedMs) * 1000,
      cpuMicrosPerScrape: cpuMicros / samples,
      oldestSampleMs: Math.max(...ages),
    };
  } finally {
    server.kill();
  }
}

async function portsOf(server: ChildProcess): Promise<readonly number[]> {
  const [ports] = (await once(server, 'message')) as [readonly number[]];
  return ports;
}

if (import.meta.main) {
  const seconds = Number(process.argv[2] ?? 10);
  const counts = process.argv[3]?.split(',').map(Number) ?? [8, 64, 256];
  console.log('endpoints   cores   scrapes/s   CPU µs/scrape   oldest sample ms');
  for (const endpoints of counts) {
    const cost = await measureScrape({ endpoints, seconds });
    const cells = [
      String(endpoints).padStart(9),
      cost.cores.toFixed(3).padStart(7),
      cost.scrapesPerSecond.toFixed(0).padStart(11),
      cost.cpuMicrosPerScrape.toFixed(0).padStart(15),
      cost.oldestSampleMs.toFixed(0).padStart(18),
    ];
    console.log(cells.join(' '));
  }
}
