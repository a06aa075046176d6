import { describe, expect, it } from 'vitest';
import { CACHE, scrapedPool } from '../../../test/support/scraping-bed.ts';
import { type FakeServer, vllmPage } from '../../../test/support/servers/fake-servers.ts';
import { CACHE_CONFIG, CUSTOM_METRICS } from '../../framework/endpoint-attributes.ts';
import type { DataSource } from '../../framework/plugin.ts';
import { metricsSource } from './metrics-source.ts';

const heat = (metricSpec: string, attributeKey = 'Heat'): object => ({
  defaultEngine: 'own',
  engineConfigs: [{ name: 'own', customMetrics: [{ attributeKey, metricSpec }] }],
});

type Bed = ReturnType<typeof scrapedPool> & { readonly side: DataSource };

/** The usual page at the endpoint's port, and another one of each host at port 9. */
function bedWith(extractors: readonly object[], interval = 50): Bed {
  const bed = scrapedPool({ extractors: [{}] });
  const parameters = metricsSource.config.parse({ port: 9, extractors, interval });
  const { pool, runtime } = bed;
  const side = metricsSource.start(parameters, { name: 'side', pool, runtime });
  pool.observeEndpoints(side);
  return { ...bed, side };
}

function serve({ network }: Bed, page: string): FakeServer {
  const server = { delayMs: 1, dead: false, status: 200, page };
  network.servers.set('a:9', server);
  return server;
}

describe('[D515] several sources of one pool', () => {
  it('bring the load from one page and other values from another', async () => {
    const bed = bedWith([heat('gpu_heat')]);
    serve(bed, 'gpu_heat 71\n');
    bed.add('a:1', { page: `${vllmPage(9)}${CACHE}` });
    await bed.clock.run(1000);
    const endpoint = bed.get('a:1');
    expect(endpoint.metrics.runningRequests).toBe(9);
    expect(endpoint.attribute(CACHE_CONFIG)?.blockTokens).toBe(16);
    expect(endpoint.attribute(CUSTOM_METRICS)).toEqual(new Map([['Heat', 71]]));
    expect(bed.errors).toEqual([]);
  });

  it('leave the load unknown where none of them has it, and as old as its page', async () => {
    const bed = bedWith([heat('gpu_heat')]);
    serve(bed, 'gpu_heat 71\n');
    const usual = bed.add('a:1', { dead: true });
    await bed.clock.run(1000);
    expect(bed.get('a:1').metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
    expect(bed.get('a:1').attribute(CUSTOM_METRICS).get('Heat')).toBe(71);
    usual.dead = false;
    await bed.clock.run(4000);
    usual.dead = true;
    const { sampledAt } = bed.get('a:1').metrics;
    await bed.clock.run(9000);
    expect(bed.get('a:1').metrics.sampledAt).toBeLessThan(sampledAt + 100);
  });

  it('count in their order, and one that fails after the others', async () => {
    const bed = bedWith([{}]);
    serve(bed, vllmPage(3));
    const usual = bed.add('a:1', { page: vllmPage(9) });
    await bed.clock.run(1000);
    expect(bed.get('a:1').metrics.runningRequests).toBe(9);
    usual.status = 503;
    await bed.clock.run(2000);
    expect(bed.get('a:1').metrics.runningRequests).toBe(3);
    expect(bed.get('a:1').metrics.sampledAt).toBeGreaterThan(1900);
    usual.status = 200;
    await bed.clock.run(4000);
    expect(bed.get('a:1').metrics.runningRequests).toBe(9);
  });

  it('have each their interval', async () => {
    const bed = bedWith([heat('gpu_heat')], 500);
    serve(bed, 'gpu_heat 71\n');
    bed.add('a:1');
    await bed.clock.run(10_000);
    expect(bed.network.timesOf('a:1').length).toBeGreaterThan(180);
    expect(bed.network.timesOf('a:9').length).toBeLessThan(25);
  });

  it('may have several extractors, of which the last that finds a value counts', async () => {
    const bed = bedWith([heat('gpu_heat'), heat('gpu_watts', 'Power'), heat('gpu_heat_max')]);
    serve(bed, 'gpu_heat 71\ngpu_watts 300\ngpu_heat_max 80\n');
    bed.add('a:1');
    await bed.clock.run(1000);
    const values = bed.get('a:1').attribute(CUSTOM_METRICS);
    expect(Object.fromEntries(values)).toEqual({ Heat: 80, Power: 300 });
  });

  it('report a page in which none of their extractors finds a value', async () => {
    const bed = bedWith([heat('gpu_heat')]);
    serve(bed, 'other 1\n');
    bed.add('a:1');
    await bed.clock.run(200);
    expect(bed.errors[0]?.reason).toContain('http://a:9/metrics has no series');
    expect(bed.errors[0]?.source).toBe('side');
  });

  it('go with their endpoint, and are there again with it', async () => {
    const bed = bedWith([heat('gpu_heat')]);
    serve(bed, 'gpu_heat 71\n');
    bed.add('a:1');
    await bed.clock.run(1000);
    bed.pool.remove(bed.get('a:1').id);
    bed.add('a:1');
    await bed.clock.run(2000);
    expect(bed.get('a:1').attribute(CUSTOM_METRICS).get('Heat')).toBe(71);
    bed.side.stop();
    serve(bed, 'gpu_heat 99\n');
    await bed.clock.run(4000);
    expect(bed.get('a:1').attribute(CUSTOM_METRICS).get('Heat')).not.toBe(99);
    expect(bed.get('a:1').metrics.sampledAt).toBeGreaterThan(3900);
  });
});
