import { describe, expect, test } from 'vitest';
import { endpointAttribute } from '../../../scorers/endpoint-attribute.ts';
import { makeContext, makeRuntime } from '../../../test/makers.ts';
import { FakeServers } from '../../../test/support/servers/fake-servers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { GPU_UTILIZATION } from '../../framework/endpoint-attributes.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { dcgmSource } from './dcgm-source.ts';

const SEED = 3;

function setUp(parameters: unknown = {}) {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const runtime = { clock, random: seededRandom(SEED), network };
  const config = dcgmSource.config.parse(parameters);
  pool.observeEndpoints(dcgmSource.start(config, { name: 'dcgm', pool, runtime }));
  const serve = (address: string, page: string): void =>
    void network.servers.set(address, { delayMs: 1, dead: false, status: 200, page });
  const add = (id: string, address: string, nodeAddress?: string): void =>
    pool.upsert({ id: id as EndpointId, address, labels: new Map(), nodeAddress });
  const utilization = (id: string): number | undefined =>
    pool.get(id as EndpointId)?.attribute(GPU_UTILIZATION);
  return { clock, network, pool, serve, add, utilization };
}

const PAGE = `# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",pod="a",namespace="n"} 40
DCGM_FI_DEV_GPU_UTIL{gpu="1",pod="a",namespace="n"} 70
DCGM_FI_DEV_GPU_UTIL{gpu="2",pod="b",namespace="n"} 90
DCGM_FI_DEV_GPU_UTIL_MAX{gpu="3",pod="a"} 100
`;

describe('dcgm-data-source', () => {
  test('[D67] the busiest GPU of the endpoint’s pod counts, as a share', async () => {
    const { clock, serve, add, utilization } = setUp();
    serve('10.0.0.1:9400', PAGE);
    add('n/a-rank-1', '10.0.0.1:8001');
    await clock.run(100);
    expect(utilization('n/a-rank-1')).toBe(0.7);
  });

  test('[D67] an exporter on the node is asked at the node’s address', async () => {
    const { clock, network, serve, add, utilization } = setUp({ useNodeAddress: true, port: 9500 });
    serve('192.168.0.7:9500', PAGE);
    add('n/b', '10.0.0.2:8000', '192.168.0.7');
    add('n/c', '10.0.0.3:8000');
    await clock.run(100);
    expect(utilization('n/b')).toBe(0.9);
    expect(utilization('n/c')).toBeUndefined();
    expect(network.timesOf('10.0.0.3:9500')).toEqual([]);
  });

  test.each([
    ['DCGM_FI_DEV_GPU_UTIL{gpu="0"} 25\n', 0.25],
    ['DCGM_FI_DEV_GPU_UTIL 0\n', 0],
    ['DCGM_FI_DEV_GPU_UTIL{gpu="0",pod=""} 5e1\n', 0.5],
    ['DCGM_FI_DEV_GPU_UTIL{pod="x"} 25\n', undefined],
    ['DCGM_FI_DEV_GPU_UTIL{pod="a"} NaN\n', undefined],
    ['DCGM_FI_DEV_GPU_UTIL{pod="a"} 101\n', undefined],
    ['', undefined],
  ])('[D67] %j is read as `%s`', async (page, share) => {
    const { clock, serve, add, utilization } = setUp();
    serve('10.0.0.1:9400', page);
    add('n/a', '10.0.0.1:8000');
    await clock.run(100);
    expect(utilization('n/a')).toBe(share);
  });

  test.each(['GPUUtilization', 'GPUUtilization/dcgm-extractor'])(
    '[D67] the scorer of attributes reads it as %s',
    async (attributeKey) => {
      const { clock, pool, serve, add } = setUp();
      serve('10.0.0.1:9400', PAGE);
      serve('10.0.0.2:9400', PAGE);
      add('n/a', '10.0.0.1:8000');
      add('n/b', '10.0.0.2:8000');
      await clock.run(100);
      for (const { id } of pool.snapshot()) {
        const load = { waitingQueueSize: 0, runningRequests: 0, kvCacheUsage: 0 };
        pool.observe(id, { ...load, sampledAt: clock.now() });
      }
      const parameters = {
        attributeKey,
        producer: 'dcgm-extractor',
        algorithm: { type: 'linear_lower_is_better' },
      };
      const scorer = endpointAttribute.create(
        endpointAttribute.config.parse(parameters),
        makeRuntime(),
      );
      expect(scorer.score(pool.snapshot(), makeContext({ now: clock.now() }))).toEqual([1, 0]);
    },
  );
});
