import { describe, expect, test } from 'vitest';
import { scrapedPool } from '../../../test/support/scraping-bed.ts';
import { FakeServers } from '../../../test/support/servers/fake-servers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { CUSTOM_METRICS } from '../../framework/endpoint-attributes.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { clusterMetricsExtractor, clusterMetricsSource } from './cluster-metrics.ts';

const SEED = 9;
const ID = 'n/east' as EndpointId;

async function read(
  page: string,
  {
    source = {},
    extractor = {},
    labels = {},
    at = 'east.example:443',
  }: { source?: object; extractor?: object; labels?: Record<string, string>; at?: string } = {},
) {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const host = { name: 'm', pool, runtime: { clock, random: seededRandom(SEED), network } };
  const started = clusterMetricsSource.start(clusterMetricsSource.config.parse(source), host);
  clusterMetricsExtractor.start(clusterMetricsExtractor.config.parse(extractor), host);
  pool.observeEndpoints(started);
  network.servers.set(at, { delayMs: 1, dead: false, status: 200, page });
  pool.upsert({
    id: ID,
    address: 'east.example:443',
    labels: new Map(Object.entries(labels)),
  });
  await clock.run(100);
  return Object.fromEntries(pool.get(ID)?.attribute(CUSTOM_METRICS) ?? []);
}

const PAGE = `llm_d_epp_average_kv_cache_utilization{name="pool"} 0.4
llm_d_epp_average_queue_size{name="pool"} 7
mine_kv 0.1
`;
const KV = 'llm-d.ai/multicluster-kv-cache-utilization';
const QUEUE = 'llm-d.ai/multicluster-queue-size';

describe('multicluster-metrics-data-source', () => {
  test('[D73] reads the averages of a cluster’s picker by HTTPS', async () => {
    const servers = { at: 'east.example' };
    expect(await read(PAGE, servers)).toEqual({ [KV]: 0.4, [QUEUE]: 7 });
  });

  test('[D73] asks where the labels say', async () => {
    const labels = { metricsAddress: '10.1.2.3', metricsPort: '9090' };
    expect(await read(PAGE, { labels, at: '10.1.2.3:9090' })).toEqual({ [KV]: 0.4, [QUEUE]: 7 });
  });

  test('[D73] reads other metrics that the extractor names, and one where the other is missing', async () => {
    const extractor = { kvCacheUtilizationMetric: 'mine_kv', queueSizeMetric: 'mine_queue' };
    expect(await read(PAGE, { extractor, at: 'east.example' })).toEqual({ [KV]: 0.1 });
    expect(await read('nothing 1\n', { at: 'east.example' })).toEqual({});
  });

  test('[D433] reads the series of a metric that has the labels that the extractor names', async () => {
    const page = 'queue{name="a"} 3\nqueue{name="b"} 5\n';
    const at = 'east.example';
    for (const queueSizeMetric of ['queue{name=b}', 'queue{name="b"}']) {
      expect(await read(page, { extractor: { queueSizeMetric }, at })).toEqual({ [QUEUE]: 5 });
    }
  });

  test('[D554] of several extractors of one source the last that finds a value counts', async () => {
    const source = {
      extractors: [{ kvCacheUtilizationMetric: 'mine_kv' }, { queueSizeMetric: 'mine_queue' }],
    };
    // The second extractor finds the usual KV usage, and the first the usual queue.
    expect(await read(PAGE, { source, at: 'east.example' })).toEqual({ [KV]: 0.4, [QUEUE]: 7 });
    const page = 'mine_kv 0.1\n';
    expect(await read(page, { source, at: 'east.example' })).toEqual({ [KV]: 0.1 });
  });

  test('[D554] what it finds stands beside what a metrics source finds', async () => {
    const bed = scrapedPool({
      extractors: [
        {
          engineConfigs: [
            { name: 'vllm', customMetrics: [{ attributeKey: 'Heat', metricSpec: 'heat' }] },
          ],
        },
      ],
      port: 9,
    });
    const { pool, runtime, network, clock } = bed;
    const parsed = clusterMetricsSource.config.parse({ scheme: 'http', port: 7, order: 1 });
    pool.observeEndpoints(clusterMetricsSource.start(parsed, { name: 'm', pool, runtime }));
    const answering = { delayMs: 1, dead: false, status: 200 };
    network.servers.set('east:9', { ...answering, page: 'heat 71\n' });
    network.servers.set('east:7', { ...answering, page: PAGE });
    bed.add('east:8000');
    for (let at = 500; at <= 5000; at += 90) {
      await clock.run(at);
      const found = Object.fromEntries(bed.get('east:8000').attribute(CUSTOM_METRICS));
      expect(found).toEqual({ Heat: 71, [KV]: 0.4, [QUEUE]: 7 });
    }
  });
});
