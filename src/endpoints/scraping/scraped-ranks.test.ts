import { expect, it } from 'vitest';
import { gaps, scrapedPool } from '../../../test/support/scraping-bed.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG, ENGINE_COUNT, LORA } from '../../framework/endpoint-attributes.ts';

const RANK = 'pointsman.dev/data-parallel-rank';
const ADDRESS = 'a:1';

/** A page with the series of so many ranks, the values of each being its own. */
function pageOf(ranks: number, label = 'engine'): string {
  const lines: string[] = [];
  const all = Array.from({ length: ranks }, (_, rank) => rank);
  for (const n of all) lines.push(`vllm:num_requests_running{${label}="${n}"} ${10 + n}`);
  for (const n of all) lines.push(`vllm:num_requests_waiting{${label}="${n}"} ${n}`);
  for (const n of all) lines.push(`vllm:kv_cache_usage_perc{${label}="${n}"} 0.${n}`);
  for (const n of all) {
    const sizes = `block_size="16",num_gpu_blocks="${100 + n}"`;
    lines.push(`vllm:cache_config_info{${label}="${n}",${sizes}} 1.0`);
  }
  lines.push('vllm:lora_requests_info{max_lora="4",running_lora_adapters="x"} 1.0', '');
  return lines.join('\n');
}

function bed(page: string, ranks: number) {
  const made = scrapedPool();
  const { pool, network } = made;
  const server = { delayMs: 1, dead: false, status: 200, page };
  network.servers.set(ADDRESS, server);
  const put = (rank: number): void =>
    pool.upsert({
      id: `a-rank-${rank}` as EndpointId,
      address: ADDRESS,
      labels: new Map([[RANK, String(rank)]]),
    });
  for (let rank = 0; rank < ranks; rank++) put(rank);
  const rank = (number: number): Endpoint => {
    const found = pool.get(`a-rank-${number}` as EndpointId);
    if (found === undefined) throw new Error(`there is no rank ${number}`);
    return found;
  };
  return { ...made, server, put, rank };
}

it.each(['engine', 'dp_rank'])('[Q323] reads each rank from its own series (%s)', async (label) => {
  const { clock, rank } = bed(pageOf(8, label), 8);
  await clock.run(10);
  const { metrics } = rank(3);
  expect(metrics).toMatchObject({ runningRequests: 13, waitingQueueSize: 3, kvCacheUsage: 0.3 });
  expect(rank(3).attribute(CACHE_CONFIG)).toMatchObject({ blocks: 103, blockTokens: 16 });
  expect(rank(3).attribute(ENGINE_COUNT)).toBe(ENGINE_COUNT.initial);
  // What the page says of no rank is so of each.
  expect(rank(3).attribute(LORA)?.running).toEqual(new Set(['x']));
});

it('[Q323] scrapes the page once for all ranks, while one is left', async () => {
  const { clock, network, pool } = bed(pageOf(8), 8);
  await clock.run(5000);
  const times = network.timesOf(ADDRESS);
  expect(Math.min(...gaps(times).slice(1))).toBeGreaterThanOrEqual(45);
  expect(network.openMax).toBe(1);
  for (let rank = 0; rank < 7; rank++) pool.remove(`a-rank-${rank}` as EndpointId);
  await clock.run(6000);
  const before = network.timesOf(ADDRESS).length;
  expect(before).toBeGreaterThan(times.length + 15);
  pool.remove('a-rank-7' as EndpointId);
  await clock.run(8000);
  expect(network.timesOf(ADDRESS).length).toBeLessThanOrEqual(before + 1);
});

it('[Q323] reads a rank that comes later from the next page, and one that came back', async () => {
  const { clock, network, pool, put, rank } = bed(pageOf(2), 1);
  await clock.run(1000);
  put(1);
  await clock.run(1100);
  expect(rank(1).metrics.runningRequests).toBe(11);
  for (const each of [0, 1]) pool.remove(`a-rank-${each}` as EndpointId);
  await clock.run(2000);
  put(0);
  await clock.run(3000);
  expect(rank(0).metrics.sampledAt).toBeGreaterThan(2900);
  expect(network.openMax).toBe(1);
});

it('[Q323] leaves a rank unknown that the page does not have, and goes on with the others', async () => {
  const { clock, network, errors, rank } = bed(pageOf(2), 3);
  await clock.run(1000);
  expect(rank(2).metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
  expect(rank(1).metrics.sampledAt).toBeGreaterThan(900);
  expect(new Set(errors.map(({ endpoint }) => endpoint.id))).toEqual(new Set(['a-rank-2']));
  expect(errors[0]?.reason).toContain(
    'no series of data-parallel rank 2 (label engine or dp_rank)',
  );
  expect(Math.max(...gaps(network.timesOf(ADDRESS)))).toBeLessThanOrEqual(100);
});

it('[Q323] takes no load for a rank from a page that names no ranks', async () => {
  const { clock, errors, rank } = bed('vllm:num_requests_running 1\n', 2);
  await clock.run(100);
  expect(rank(0).metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
  expect(errors[0]?.failure).toBe('no-series');
});

it('[Q323] reports a page that cannot be had for each rank', async () => {
  const { clock, server, errors } = bed(pageOf(2), 2);
  server.status = 503;
  await clock.run(10);
  expect(errors.map(({ endpoint, failure }) => [endpoint.id, failure])).toEqual([
    ['a-rank-0', 'status'],
    ['a-rank-1', 'status'],
  ]);
});
