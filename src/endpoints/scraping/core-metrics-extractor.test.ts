import { describe, expect, it } from 'vitest';
import { scrapedPool } from '../../../test/support/scraping-bed.ts';
import { vllmPage } from '../../../test/support/servers/fake-servers.ts';
import { type EndpointId } from '../../framework/endpoint.ts';
import { coreMetricsExtractor } from './core-metrics-extractor.ts';

describe('the engine of an endpoint', () => {
  const SGLANG = 'sglang:num_running_reqs 3\nsglang:num_queue_reqs 0\nsglang:token_usage 0.1\n';

  it('is the one whose series the page has, where no label says', async () => {
    const { clock, add, get } = scrapedPool();
    add('a:1', { page: SGLANG });
    await clock.run(100);
    expect(get('a:1').metrics.runningRequests).toBe(3);
  });

  it.each(['llm-d.ai/engine-type', 'inference.networking.k8s.io/engine-type'])(
    'is what the label %s says',
    async (label) => {
      const { clock, add, get } = scrapedPool();
      const page = `${vllmPage(9)}${SGLANG}`;
      add('a:1', { page }, { [label]: 'sglang' });
      add('b:1', { page });
      await clock.run(100);
      expect(get('a:1').metrics.runningRequests).toBe(3);
      expect(get('b:1').metrics.runningRequests).toBe(9);
    },
  );

  it('changes with its label and with the server behind its address', async () => {
    const { clock, pool, add, get } = scrapedPool();
    const server = add('a:1', { page: `${vllmPage(9)}${SGLANG}` });
    await clock.run(100);
    pool.upsert({
      id: 'a:1' as EndpointId,
      address: 'a:1',
      labels: new Map([['llm-d.ai/engine-type', 'sglang']]),
    });
    await clock.run(200);
    expect(get('a:1').metrics.runningRequests).toBe(3);
    pool.upsert({ id: 'a:1' as EndpointId, address: 'a:1', labels: new Map() });
    server.page = vllmPage(5);
    await clock.run(1000);
    expect(get('a:1').metrics.runningRequests).toBe(5);
    server.page = SGLANG;
    await clock.run(2000);
    expect(get('a:1').metrics.runningRequests).toBe(3);
  });

  it('[D502] has a name of its own, which is not the one of the default engine', () => {
    const parse = (...names: readonly string[]): unknown =>
      coreMetricsExtractor.config.parse({ engineConfigs: names.map((name) => ({ name })) });
    expect(parse('vllm', 'ours')).toMatchObject({ defaultEngine: 'vllm' });
    expect(() => parse('ours', 'ours')).toThrow('two engines are named ours');
    expect(() => parse('default')).toThrow('default means the one that defaultEngine names');
  });

  it('is read as the core-metrics-extractor of the pool says, though it starts later', async () => {
    const { clock, pool, runtime, add, get } = scrapedPool();
    add('a:1', { page: `${vllmPage(9)}${SGLANG}ours 4\n` }, { engine: 'mine' });
    add('b:1', { page: `${vllmPage(9)}${SGLANG}ours 4\n` });
    const config = coreMetricsExtractor.config.parse({
      engineLabelKey: 'engine',
      defaultEngine: 'sglang',
      engineConfigs: [{ name: 'mine', runningRequestsSpec: 'ours' }],
    });
    coreMetricsExtractor.start(config, { name: 'extractor', pool, runtime });
    await clock.run(100);
    expect(get('a:1').metrics.runningRequests).toBe(4);
    expect(get('b:1').metrics.runningRequests).toBe(3);
  });
});

describe('core-metrics-extractor', () => {
  it.each([
    { defaultEngine: 'mine' },
    { engineConfigs: [{ name: 'x', kvUsageSpec: 'a{' }] },
    { engineLabel: 'x' },
  ])('refuses %j', (parameters) => {
    expect(() => coreMetricsExtractor.config.parse(parameters)).toThrow();
  });

  it('takes an engine of engineConfigs as the default', () => {
    const config = { defaultEngine: 'mine', engineConfigs: [{ name: 'mine' }] };
    expect(coreMetricsExtractor.config.parse(config)).toMatchObject({ defaultEngine: 'mine' });
  });
});
