import { describe, expect, it } from 'vitest';
import { CACHE, gaps, scrapedPool } from '../../../test/support/scraping-bed.ts';
import { vllmPage } from '../../../test/support/servers/fake-servers.ts';
import { type Endpoint, type EndpointId, isFresh } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, LORA } from '../../framework/endpoint-attributes.ts';
import { metricsSource } from './metrics-source.ts';
import { scrapeErrorsOf } from './scrape-errors.ts';

describe('metrics-data-source', () => {
  it('scrapes a new endpoint at once and dates the sample by when the scrape was sent', async () => {
    const { clock, add, get } = scrapedPool();
    await clock.run(1000);
    add('a:1', { delayMs: 7 });
    expect(get('a:1').metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
    const sentAt = clock.now();
    await clock.run(sentAt + 10);
    expect(get('a:1').metrics).toEqual({
      waitingQueueSize: 2,
      runningRequests: 1,
      kvCacheUsage: 0.5,
      sampledAt: sentAt,
    });
  });

  it('scrapes every 50 ms, jittered, however long an answer takes', async () => {
    const { clock, network, add } = scrapedPool();
    add('a:1', { delayMs: 30 });
    await clock.run(10_000);
    const between = gaps(network.timesOf('a:1')).slice(1);
    expect(Math.min(...between)).toBeGreaterThanOrEqual(45);
    expect(Math.max(...between)).toBeLessThanOrEqual(55);
    expect(new Set(between).size).toBeGreaterThan(100);
    expect(between.length).toBeGreaterThan(190);
  });

  it('moves the sample time even when nothing else changed', async () => {
    const { clock, add, get } = scrapedPool();
    add('a:1');
    await clock.run(1000);
    expect(get('a:1').metrics.sampledAt).toBeGreaterThan(900);
  });

  it('spreads endpoints that were added together over the interval, from their second scrape', async () => {
    const { clock, network, add } = scrapedPool();
    for (let port = 1; port <= 50; port++) add(`a:${port}`);
    await clock.run(1000);
    const moments = network.sent.filter(({ at }) => at >= 60 && at < 110).map(({ at }) => at);
    const perTenth = Array.from(
      { length: 10 },
      (_, tenth) => moments.filter((at) => Math.floor((at - 60) / 5) === tenth).length,
    );
    expect(Math.max(...perTenth)).toBeLessThanOrEqual(15);
    expect(perTenth.filter((count) => count > 0).length).toBeGreaterThanOrEqual(8);
  });

  it('is delayed by no slow or dead endpoint, and never asks one twice at once', async () => {
    const { clock, network, add } = scrapedPool();
    add('slow:1', { delayMs: 400 });
    add('dead:1', { dead: true });
    add('good:1');
    await clock.run(10_000);
    expect(Math.max(...gaps(network.timesOf('good:1')))).toBeLessThanOrEqual(55);
    expect(network.timesOf('slow:1').length).toBeGreaterThanOrEqual(24);
    expect(network.openMax).toBe(1);
  });

  it('asks one that fails less often, and is back within about a second', async () => {
    const { clock, network, add, get } = scrapedPool();
    const server = add('a:1', { status: 503 });
    await clock.run(20_000);
    const between = gaps(network.timesOf('a:1'));
    expect(between.slice(-10).every((gap) => gap > 850 && gap <= 1100)).toBe(true);
    server.status = 200;
    await clock.run(21_200);
    expect(get('a:1').metrics.sampledAt).toBeGreaterThan(20_000);
    await clock.run(22_000);
    expect(Math.max(...gaps(network.timesOf('a:1').slice(-5)))).toBeLessThanOrEqual(55);
  });

  it('reports why scrapes fail, and leaves such an endpoint unknown', async () => {
    const { clock, add, get, errors } = scrapedPool({ timeout: '200ms' });
    add('a:1', { status: 404 });
    add('b:1', { dead: true });
    add('c:1', { page: '<html>' });
    await clock.run(240);
    const first = errors.filter(({ inSuccession }) => inSuccession === 1);
    expect(first.map(({ endpoint, failure, reason }) => [endpoint.id, failure, reason])).toEqual([
      ['a:1', 'status', 'http://a:1/metrics answered 404'],
      [
        'c:1',
        'no-series',
        'http://c:1/metrics has no series of a known engine; it begins with "<html>"',
      ],
      ['b:1', 'unreachable', 'http://b:1/metrics did not answer'],
    ]);
    for (const id of ['a:1', 'b:1', 'c:1']) {
      expect(get(id).metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
    }
  });

  it.each([
    ['num_requests_waiting', '+Inf', 'Infinity', '1000000'],
    ['num_requests_waiting', '1e400', 'Infinity', '1000000'],
    ['num_requests_waiting', '-1', '-1', '1000000'],
    ['num_requests_running', 'NaN', 'NaN', '1000000000000'],
    ['kv_cache_usage_perc', '1e9', '1000000000', '1.5'],
  ])(
    '[V40] keeps the last good sample while %s is %s, and says so',
    async (name, text, is, max) => {
      const { clock, add, get, errors } = scrapedPool();
      const server = add('a:1');
      await clock.run(200);
      const good = get('a:1').metrics;
      server.page = server.page.replace(new RegExp(`${name}(.*) .*`), `${name}$1 ${text}`);
      await clock.run(3000);
      expect(get('a:1').metrics).toEqual(good);
      expect(isFresh(get('a:1'), clock.now())).toBe(false);
      expect(errors[0]).toMatchObject({
        failure: 'bad-value',
        reason: `http://a:1/metrics says that vllm:${name} is ${is}; it must be a number from 0 to ${max}`,
      });
      server.page = vllmPage(1);
      await clock.run(4200);
      expect(isFresh(get('a:1'), clock.now())).toBe(true);
    },
  );

  it.each([
    ['', 'it is empty'],
    ['\x1f\x8b\x08', 'it begins with "\\u001f'],
    ['a\nb', 'it begins with "a\\nb"'],
  ])('says what a page is that is no metrics page: %j', async (page, what) => {
    const { clock, add, errors } = scrapedPool();
    add('a:1', { page });
    await clock.run(100);
    expect(errors[0]?.reason).toContain(what);
  });

  it('[V41] reads no page beyond maxPageBytes', async () => {
    const { clock, add, get, errors } = scrapedPool({ maxPageBytes: 2048 });
    add('a:1', { page: vllmPage(1, '#'.repeat(2048)) });
    add('b:1', { page: vllmPage(1, '#'.repeat(1024)) });
    await clock.run(100);
    const failed = errors.map(({ endpoint, failure }) => `${endpoint.id} ${failure}`);
    expect(new Set(failed)).toEqual(new Set(['a:1 too-large']));
    expect(errors[0]?.reason).toBe(
      'http://a:1/metrics answered more than 2048 bytes; ' +
        'maxPageBytes of the metrics-data-source is the bound',
    );
    expect(get('b:1').metrics.runningRequests).toBe(1);
  });

  it('[V41] reads a page that takes long less often, and stays fresh', async () => {
    const { clock, network, add, get } = scrapedPool();
    add('usual:1', { page: vllmPage(1, 'x 1\n'.repeat(10_000)) });
    add('blank:1', { page: vllmPage(1, '\n'.repeat(2_000_000)) });
    const lora = 'vllm:lora_requests_info{max_lora="4",running_lora_adapters="a"} 1\n';
    add('lora:1', { page: vllmPage(1, lora.repeat(16_000)) });
    await clock.run(10_000);
    const timesPerSecond = (host: string): number => network.timesOf(host).length / 10;
    expect(timesPerSecond('usual:1')).toBeGreaterThan(19);
    expect(timesPerSecond('blank:1')).toBeLessThan(18.5);
    expect(timesPerSecond('lora:1')).toBeLessThan(2.5);
    for (const id of ['blank:1', 'lora:1']) expect(isFresh(get(id), clock.now())).toBe(true);
  });

  it('has an error for an endpoint only while its scrapes fail', async () => {
    const { clock, pool, add } = scrapedPool();
    const failureOf = (id: string) => scrapeErrorsOf(pool).of(id as EndpointId)?.failure;
    const server = add('a:1', { status: 503 });
    add('b:1', { status: 503 });
    await clock.run(200);
    expect([failureOf('a:1'), failureOf('b:1')]).toEqual(['status', 'status']);
    server.status = 200;
    pool.remove('b:1' as EndpointId);
    await clock.run(2000);
    expect([failureOf('a:1'), failureOf('b:1')]).toEqual([undefined, undefined]);
  });

  it('stops at once for an endpoint that was removed, and keeps nothing of its last answer', async () => {
    const { clock, network, pool, add } = scrapedPool();
    add('a:1', { delayMs: 20 });
    await clock.run(1000);
    while (clock.now() - (network.timesOf('a:1').at(-1) ?? 0) > 10) clock.step();
    pool.remove('a:1' as EndpointId);
    const sent = network.sent.length;
    await clock.run(clock.now() + 5000);
    expect(network.sent.length).toBe(sent);
    expect(clock.step()).toBe(false);
  });

  it('leaves no timer behind when stopped', async () => {
    const { clock, network, source, add } = scrapedPool();
    add('a:1');
    add('b:1', { dead: true });
    await clock.run(500);
    source.stop();
    const sent = network.sent.length;
    await clock.run();
    expect(network.sent.length).toBe(sent);
  });

  it('sets LoRA state and cache size when they come, change or go, not with each scrape', async () => {
    const { clock, changes, add, get } = scrapedPool();
    const lora = (adapter: string, time: number): string =>
      `vllm:lora_requests_info{max_lora="4",running_lora_adapters="${adapter}",waiting_lora_adapters=""} ${time}`;
    const server = add('a:1', { page: vllmPage(1, lora('sql', 1), CACHE) });
    await clock.run(1000);
    expect(get('a:1').attribute(LORA)?.running).toEqual(new Set(['sql']));
    expect(get('a:1').attribute(CACHE_CONFIG)).toEqual({ blockTokens: 16, blocks: 100 });
    expect(setsIn(changes)).toBe(2);
    server.page = vllmPage(1, lora('chat', 2), CACHE);
    await clock.run(2000);
    expect(get('a:1').attribute(LORA)?.running).toEqual(new Set(['chat']));
    server.page = vllmPage(1);
    await clock.run(3000);
    expect(get('a:1').attribute(LORA)).toBeUndefined();
    expect(get('a:1').attribute(CACHE_CONFIG)).toBeUndefined();
    expect(setsIn(changes)).toBe(5);
  });

  it('asks where scheme, path and port say, at IPv6 addresses too', async () => {
    const { clock, network, pool } = scrapedPool({ scheme: 'https', path: '/m?x=1', port: 9100 });
    pool.upsert({ id: 'a' as EndpointId, address: '[fd00::1]:8000', labels: new Map() });
    await clock.run(10);
    expect(network.sent[0]?.url).toBe('https://[fd00::1]:9100/m?x=1');
  });

  it('[V45] demands a certificate of the host name, or of the name in the configuration', async () => {
    for (const [serverName, wanted] of [
      [undefined, 'vllm.example'],
      ['other.example', 'other.example'],
    ]) {
      const { clock, network, pool } = scrapedPool({ scheme: 'https', serverName });
      const id = 'a' as EndpointId;
      pool.upsert({ id, address: '10.0.0.1:8000', hostName: 'vllm.example', labels: new Map() });
      await clock.run(10);
      expect(network.sent[0]?.tls?.serverName).toBe(wanted);
    }
  });

  it('makes the same scrapes from the same seed', async () => {
    const run = async (): Promise<unknown> => {
      const { clock, network, add } = scrapedPool();
      for (let port = 1; port <= 5; port++) add(`a:${port}`, { dead: port === 3 });
      await clock.run(3000);
      return network.sent;
    };
    expect(await run()).toEqual(await run());
  });

  it.each([
    ['50ms', 50],
    ['0.2s', 200],
    ['1m', 60_000],
    [75, 75],
  ])('takes the interval %j', (interval, intervalMs) => {
    expect(metricsSource.config.parse({ interval })).toMatchObject({ interval: intervalMs });
  });

  it.each([
    { interval: '50' },
    { interval: 0 },
    { interval: '1ms' },
    { timeout: -1 },
    { scheme: 'ftp' },
    { maxPageBytes: 100 },
    { insecureSkipVerify: 'no' },
    { clientCertPath: '/a' },
    { clientKeyPath: '/a' },
    { intervall: '50ms' },
  ])('refuses %j', (parameters) => {
    expect(() => metricsSource.config.parse(parameters)).toThrow();
  });
});

/** Changes that were of an attribute rather than a sample. */
function setsIn(changes: readonly Endpoint[]): number {
  return changes.filter((each, index) => each.metrics === changes[index - 1]?.metrics).length;
}
