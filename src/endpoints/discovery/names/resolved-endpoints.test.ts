import { describe, expect, it } from 'vitest';
import type { EndpointId } from '../../../framework/endpoint.ts';
import type { ResolvedName } from '../../../framework/runtime.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { ResolvedEndpoints } from './resolved-endpoints.ts';

const KEEP_MS = 300_000;
const ERROR = new Error('queryA ETIMEOUT');

function setUp() {
  const clock = new SimulatedClock();
  const pool = new EndpointPool();
  const answers = new Map<string, ResolvedName | Error | 'never'>();
  const asked: { readonly name: string; readonly at: number }[] = [];
  const lines: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    lines.push(`${level}: ${message} ${JSON.stringify(fields)}`);
  const endpoints = new ResolvedEndpoints({
    pool,
    clock,
    keepMs: KEEP_MS,
    log: { info: write('info'), warn: write('warn') },
    resolve: (name) => {
      asked.push({ name, at: clock.now() });
      const answer = answers.get(name) ?? new Error(`queryA ENOTFOUND ${name}`);
      if (answer === 'never') return Promise.withResolvers<never>().promise;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    },
  });
  const answer = (name: string, addresses: readonly string[], ttlMs = 10_000): void =>
    void answers.set(name, { addresses, ttlMs });
  const list = (address: string, id = address, labels: Readonly<Record<string, string>> = {}) =>
    endpoints.upsert({
      id: id as EndpointId,
      address,
      labels: new Map(Object.entries(labels)),
    });
  const inPool = (): Readonly<Record<string, string>> =>
    Object.fromEntries(pool.snapshot().map(({ id, address }) => [id, address]));
  return { clock, pool, endpoints, answers, answer, asked, lines, list, inPool };
}

describe('endpoints with host names', () => {
  it('[V45] are in the pool by their address, with the listed id and labels', async () => {
    const { clock, pool, endpoints, answer, list, inPool } = setUp();
    answer('vllm-0.example', ['10.0.0.1']);
    list('VLLM-0.example:8000', 'default/vllm-0', { zone: 'a' });
    expect(inPool()).toEqual({});
    await endpoints.asked();
    expect(inPool()).toEqual({ 'default/vllm-0': '10.0.0.1:8000' });
    expect(pool.get('default/vllm-0' as EndpointId)?.hostName).toBe('vllm-0.example');
    list('VLLM-0.example:8000', 'default/vllm-0', { zone: 'b' });
    expect(pool.get('default/vllm-0' as EndpointId)?.labels.get('zone')).toBe('b');
    endpoints.remove('default/vllm-0' as EndpointId);
    expect(inPool()).toEqual({});
    await clock.run();
    expect(clock.step()).toBe(false);
  });

  it('[V45] follow the name when its answer is too old: 1 s to 5 min, 10 s where it does not say', async () => {
    const { clock, endpoints, answer, answers, asked, list, inPool } = setUp();
    const timesOf = (name: string) =>
      asked.filter((each) => each.name === name).map(({ at }) => at);
    answer('often', ['10.0.0.1'], 0);
    answer('usual', ['10.0.0.2'], 30_000);
    answer('seldom', ['10.0.0.3'], 86_400_000);
    answers.set('hosts', { addresses: ['10.0.0.4'], ttlMs: undefined });
    for (const name of ['often', 'usual', 'seldom', 'hosts']) list(`${name}:80`);
    await clock.run(600_000);
    expect(timesOf('often')).toHaveLength(601);
    expect(timesOf('usual')).toHaveLength(21);
    expect(timesOf('seldom')).toHaveLength(3);
    expect(timesOf('hosts')).toHaveLength(61);
    answer('usual', ['10.0.0.9'], 30_000);
    await clock.run(631_000);
    expect(inPool()['usual:80']).toBe('10.0.0.9:80');
    endpoints.stop();
    await clock.run();
    expect(timesOf('usual').length).toBeLessThan(30);
  });

  it('[V47] are one for each address of the name, and an address keeps its id', async () => {
    const { clock, answer, list, inPool } = setUp();
    answer('pods', ['10.0.0.2', '10.0.0.1']);
    list('pods:80', 'p');
    await clock.run(0);
    expect(inPool()).toEqual({ p: '10.0.0.1:80', 'p@10.0.0.2': '10.0.0.2:80' });
    answer('pods', ['10.0.0.2', '10.0.0.3', '10.0.0.4']);
    await clock.run(10_000);
    expect(inPool()).toEqual({
      'p@10.0.0.2': '10.0.0.2:80',
      p: '10.0.0.3:80',
      'p@10.0.0.4': '10.0.0.4:80',
    });
  });

  it('[V47] have IPv6 addresses in brackets, as listed addresses have', async () => {
    const { clock, pool, answer, list, inPool } = setUp();
    answer('six', ['fd00::1', 'fd00::2']);
    list('six:80', 's');
    list('[::1]:80', 'listed');
    await clock.run(0);
    expect(inPool()).toEqual({
      listed: '[::1]:80',
      s: '[fd00::1]:80',
      's@fd00::2': '[fd00::2]:80',
    });
    expect(pool.get('listed' as EndpointId)?.hostName).toBeUndefined();
  });

  it('[V47] are one where two are listed with the same address, until the first leaves', async () => {
    const { clock, endpoints, answer, lines, list, inPool } = setUp();
    answer('localhost', ['127.0.0.1']);
    answer('other', ['127.0.0.1']);
    list('127.0.0.1:80', 'a');
    list('localhost:80', 'b');
    list('other:80', 'c');
    list('other:81', 'd');
    await clock.run(60_000);
    expect(inPool()).toEqual({ a: '127.0.0.1:80', d: '127.0.0.1:81' });
    expect(lines.filter((line) => line.includes('same address'))).toHaveLength(2);
    endpoints.remove('a' as EndpointId);
    expect(inPool()).toEqual({ b: '127.0.0.1:80', d: '127.0.0.1:81' });
    endpoints.remove('b' as EndpointId);
    expect(inPool()).toEqual({ c: '127.0.0.1:80', d: '127.0.0.1:81' });
  });

  it('[V46] keep the last addresses for a bounded time while the name cannot be resolved', async () => {
    const { clock, endpoints, answer, answers, asked, lines, list, inPool } = setUp();
    answer('a', ['10.0.0.1']);
    list('a:80');
    await clock.run(5000);
    answers.set('a', ERROR);
    await clock.run(299_999);
    expect(inPool()).toEqual({ 'a:80': '10.0.0.1:80' });
    expect(endpoints.names()).toMatchObject([
      { name: 'a', addresses: ['10.0.0.1'], error: 'queryA ETIMEOUT', since: 10_000 },
    ]);
    await clock.run(302_000);
    expect(inPool()).toEqual({});
    expect(asked.length).toBeLessThan(25);
    answer('a', ['10.0.0.2']);
    await clock.run(340_000);
    expect(inPool()).toEqual({ 'a:80': '10.0.0.2:80' });
    expect(lines.map((line) => line.split(/[;:{] ?/)[1]?.trim())).toEqual([
      'a host name is resolved',
      'a host name cannot be resolved',
      'the addresses of a host name are too old',
      'a host name is resolved',
    ]);
  });

  it('[V46] name what cannot be resolved once, ten lines a second at most', async () => {
    const { clock, endpoints, lines, list } = setUp();
    for (let index = 0; index < 35; index++) list(`nosuch-${index}:80`);
    await clock.run(1500);
    expect(lines).toHaveLength(10);
    expect(lines[0]).toBe(
      'warn: a host name cannot be resolved ' +
        '{"name":"nosuch-0","addresses":[],"count":0,"error":"queryA ENOTFOUND nosuch-0"}',
    );
    await clock.run(600_000);
    expect(lines).toHaveLength(35);
    expect(endpoints.names()).toHaveLength(35);
    endpoints.stop();
  });

  it('[V398] take 1,024 addresses of an answer with 10,000, once each, and exchange them all', async () => {
    const { clock, endpoints, answer, list, inPool } = setUp();
    const many = Array.from({ length: 10_000 }, (_, at) => `10.0.${at >> 8}.${at & 255}`);
    answer('huge.example', [...many, ...many], 0);
    list('huge.example:80', 'huge');
    await endpoints.asked();
    const before = inPool();
    expect(Object.keys(before)).toHaveLength(1024);
    expect(before['huge']).toBeDefined();
    answer('huge.example', ['10.1.0.2', '10.1.0.1'], 0);
    await clock.run(1500);
    expect(inPool()).toEqual({ huge: '10.1.0.1:80', 'huge@10.1.0.2': '10.1.0.2:80' });
    endpoints.stop();
  });

  it.each([
    ['first', ['p@10.0.0.2', 'p']],
    ['last', ['p', 'p@10.0.0.2']],
  ])(
    '[V607] keep a listed id that a further address of another would have, listed %s',
    async (_when, ids) => {
      const { clock, endpoints, answer, list, inPool } = setUp();
      answer('pods', ['10.0.0.1', '10.0.0.2']);
      for (const id of ids) {
        list(id === 'p' ? 'pods:80' : '10.0.0.9:80', id);
        await clock.run(1);
      }
      const both = { p: '10.0.0.1:80', 'p@10.0.0.2': '10.0.0.9:80', 'p@10.0.0.2@': '10.0.0.2:80' };
      expect(inPool()).toEqual(both);
      endpoints.remove('p@10.0.0.2' as EndpointId);
      expect(Object.values(inPool()).toSorted()).toEqual(['10.0.0.1:80', '10.0.0.2:80']);
      endpoints.remove('p' as EndpointId);
      expect(inPool()).toEqual({});
    },
  );

  it('[V608] are not kept for longer because each attempt to resolve the name takes minutes', async () => {
    const { clock, endpoints, answer, answers, list, inPool } = setUp();
    answer('a', ['10.0.0.1']);
    list('a:80');
    await clock.run(5000);
    answers.set('a', 'never');
    await clock.run(KEEP_MS - 1);
    expect(inPool()).toEqual({ 'a:80': '10.0.0.1:80' });
    await clock.run(KEEP_MS);
    expect(inPool()).toEqual({});
    expect(endpoints.names()).toMatchObject([{ addresses: [], error: 'there is no answer' }]);
    endpoints.stop();
  });

  it('[V609] keep the addresses of their name where only the port changes, also while no server answers', async () => {
    const { clock, answer, answers, list, inPool } = setUp();
    answer('a', ['10.0.0.1']);
    list('a:80', 'x');
    await clock.run(5000);
    answers.set('a', ERROR);
    list('a:81', 'x');
    expect(inPool()).toEqual({ x: '10.0.0.1:81' });
  });
});
