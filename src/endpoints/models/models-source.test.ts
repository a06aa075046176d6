import { describe, expect, test } from 'vitest';
import { type FakeServer, FakeServers } from '../../../test/support/servers/fake-servers.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import { CONTEXT_WINDOW, MODELS } from '../../framework/endpoint-attributes.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { type ScrapeError, scrapeErrorsOf } from '../scraping/scrape-errors.ts';
import { modelsSource } from './models-source.ts';

const SEED = 5;
const ID = 'a:1' as EndpointId;

function setUp(page: string, parameters: unknown = {}) {
  const clock = new SimulatedClock();
  const network = new FakeServers(clock);
  const pool = new EndpointPool();
  const runtime = { clock, random: seededRandom(SEED), network };
  const errors: ScrapeError[] = [];
  scrapeErrorsOf(pool).observe({ onScrapeError: (error) => errors.push(error) });
  const config = modelsSource.config.parse(parameters);
  const source = modelsSource.start(config, { name: 'models', pool, runtime });
  pool.observeEndpoints(source);
  const server: FakeServer = { delayMs: 1, dead: false, status: 200, page };
  network.servers.set('a:1', server);
  pool.upsert({ id: ID, address: 'a:1', labels: new Map() });
  return { clock, network, pool, source, server, errors };
}

const LIST = JSON.stringify({
  object: 'list',
  data: [
    {
      id: 'base',
      object: 'model',
      created: 7,
      owned_by: 'vllm',
      root: '/models/base',
      parent: null,
    },
    { id: 'lora', object: 'model', parent: 'base', permission: [{}] },
  ],
});

describe('models-data-source', () => {
  test('[V136] keeps the models it had where a list has more than requests can look through', async () => {
    const { clock, pool, server, errors } = setUp(LIST);
    await clock.run(10);
    const known = pool.get(ID)?.attribute(MODELS);
    server.page = `{"data":[${'{"id":""},'.repeat(5000)}{"id":"x"}]}`;
    await clock.run(2000);
    expect(pool.get(ID)?.attribute(MODELS)).toBe(known);
    expect(errors.at(-1)?.reason).toContain('the list has 5001 models, and may have 5000');
  });

  test.each([
    ['that of a base model', '[{"id":"m","max_model_len":8192},{"id":"l","parent":"m"}]', 8192],
    [
      'the longest of base models',
      '[{"id":"m","max_model_len":8192},{"id":"n","max_model_len":4096}]',
      8192,
    ],
    ['none where one does not say', '[{"id":"m","max_model_len":8192},{"id":"n"}]', undefined],
    ['none that is no number', '[{"id":"m","max_model_len":"8K"}]', undefined],
    ['none of nothing', '[]', undefined],
  ])('[Q270] takes as the context window %s', async (_, data, tokens) => {
    const { clock, pool } = setUp(`{"data":${data}}`);
    await clock.run(10);
    expect(pool.get(ID)?.attribute(MODELS)).toBeDefined();
    expect(pool.get(ID)?.attribute(CONTEXT_WINDOW)).toBe(tokens);
  });

  test('[D60] reads models and adapters at once, then every second, and less often on failure', async () => {
    const { clock, network, pool, server, errors } = setUp(LIST);
    expect(pool.get(ID)?.attribute(MODELS)).toBeUndefined();
    await clock.run(10);
    expect(pool.get(ID)?.attribute(MODELS)).toEqual([
      { id: 'base', isAdapter: false, object: 'model', created: 7, owned_by: 'vllm' },
      { id: 'lora', isAdapter: true, object: 'model' },
    ]);
    await clock.run(10_000);
    expect(network.timesOf('a:1').length).toBeGreaterThan(8);
    expect(network.timesOf('a:1').length).toBeLessThan(13);
    server.status = 500;
    await clock.run(60_000);
    expect(network.timesOf('a:1').length).toBeLessThan(25);
    expect(errors.at(-1)).toMatchObject({ failure: 'status' });
    expect(pool.get(ID)?.attribute(MODELS)).toHaveLength(2);
  });

  test('[D60] an equal answer changes nothing, and another one counts at the next poll', async () => {
    const { clock, pool, server } = setUp(LIST);
    await clock.run(10);
    const before = pool.get(ID);
    await clock.run(5000);
    expect(pool.get(ID)).toBe(before);
    server.page = JSON.stringify({ data: [{ id: 'other' }] });
    await clock.run(7000);
    expect(
      pool
        .get(ID)
        ?.attribute(MODELS)
        ?.map(({ id }) => id),
    ).toEqual(['other']);
  });

  test.each(['', 'no json', '{"data":{}}', '{"data":[{"name":"x"}]}'])(
    '[D60] an answer %j is a failure, and nothing is known from it',
    async (page) => {
      const { clock, pool, errors } = setUp(page);
      await clock.run(100);
      expect(pool.get(ID)?.attribute(MODELS)).toBeUndefined();
      expect(errors[0]).toMatchObject({ failure: 'no-series' });
    },
  );

  test('[D60] polls end with the endpoint and with the source', async () => {
    const { clock, network, pool, source } = setUp(LIST, { interval: '2s', path: '/models' });
    await clock.run(10);
    pool.remove(ID);
    await clock.run(20_000);
    expect(network.timesOf('a:1')).toHaveLength(1);
    pool.upsert({ id: ID, address: 'a:1', labels: new Map() });
    source.stop();
    await clock.run(20_000);
    expect(network.timesOf('a:1')).toHaveLength(1);
  });
});
