import { expect, it } from 'vitest';
import { createPicker } from '../../index.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import type { TraceRequest } from '../traces/trace.ts';
import { type PoolSpec, presetServer } from './pool-spec.ts';
import { simulate } from './simulate.ts';

const SERVER = { ...presetServer('llama-3.1-8b-h100'), labels: {}, jitter: 0 };
const TOKENS = 20_000;

/** A server with so many engines for each number. */
function poolOf(engines: readonly number[], steered = false): PoolSpec {
  const servers = engines.map((each, n) => ({ ...SERVER, engines: each, steered, id: `s${n}` }));
  return { servers, faults: [] };
}

function longPrompts(count: number, meanGapMs: number, seed: number): readonly TraceRequest[] {
  const random = seededRandom(seed);
  let atMs = 200;
  return Array.from({ length: count }, (_, n) => {
    atMs -= meanGapMs * Math.log(1 - random.next());
    const blockIds = [`${n}`];
    return { atMs, model: 'm', promptTokens: TOKENS, outputTokens: 100, blockIds };
  });
}

function meanTtftMs(
  pool: PoolSpec,
  requests: readonly TraceRequest[],
  config = 'default',
  seed = 1,
): number {
  const workload = { blockTokens: 64, requests };
  const result = simulate({ workload, pool, config, createPicker, seed });
  expect(result.requests.every(({ completed }) => completed)).toBe(true);
  return result.requests.reduce((sum, { ttftMs }) => sum + ttftMs, 0) / requests.length;
}

it('[Q318] a simulated server with several engines computes as many prompts at once', () => {
  const one = longPrompts(1, 0, 1);
  const atOnce = longPrompts(4, 0, 1);
  const aloneMs = meanTtftMs(poolOf([1]), one, 'round-robin');
  expect(meanTtftMs(poolOf([4]), atOnce, 'round-robin') / aloneMs).toBeCloseTo(1, 1);
  expect(meanTtftMs(poolOf([1]), atOnce, 'round-robin') / aloneMs).toBeGreaterThan(2);
});

it.each([
  ['two servers of eight', [8, 8]],
  ['one server of eight beside four of one', [8, 1, 1, 1, 1]],
])('[Q318] with long prompts the default policy keeps the engines of %s at work', (_, engines) => {
  const all = engines.reduce((sum, each) => sum + each, 0);
  for (const seed of [1, 2]) {
    const requests = longPrompts(300, 1000 / all, seed);
    const pool = poolOf(engines);
    const ttftMs = meanTtftMs(pool, requests, 'default', seed);
    const byCountMs = meanTtftMs(pool, requests, 'least-request', seed);
    expect(ttftMs / byCountMs, `seed ${seed}`).toBeLessThan(1.15);
  }
});

it('[Q328] where the picker names the engine, prompts are found as on as many servers of one engine', () => {
  const pools = { steered: poolOf([8], true), servers: poolOf(Array(8).fill(1)) };
  const requests = chats(200, 4, 1);
  const cached = (pool: PoolSpec): number => {
    const workload = { blockTokens: 64, requests };
    const result = simulate({ workload, pool, config: 'default', createPicker, seed: 1 });
    expect(result.requests.every(({ completed }) => completed)).toBe(true);
    return result.requests.reduce((sum, { cachedTokens }) => sum + cachedTokens, 0);
  };
  expect(cached(pools.steered) / cached(pools.servers)).toBeCloseTo(1, 1);
  expect(cached(poolOf([8])) / cached(pools.servers)).toBeLessThan(0.7);
});

/** So many chats of so many turns, whose prompts are all that was said before. */
function chats(count: number, turns: number, seed: number): readonly TraceRequest[] {
  const random = seededRandom(seed);
  const all = Array.from({ length: count * turns }, (_, n) => {
    const chat = n % count;
    const turn = Math.floor(n / count) + 1;
    const blockIds = Array.from({ length: 20 * turn }, (__, block) => `${chat}/${block}`);
    const atMs = 200 + turn * 20_000 + 20_000 * random.next();
    return { atMs, model: 'm', promptTokens: 64 * 20 * turn, outputTokens: 50, blockIds };
  });
  return all.toSorted((a, b) => a.atMs - b.atMs);
}
