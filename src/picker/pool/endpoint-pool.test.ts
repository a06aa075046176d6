import { describe, expect, it } from 'vitest';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import { EndpointPool } from './endpoint-pool.ts';

const a = 'default/a' as EndpointId;
const b = 'default/b' as EndpointId;
const sample = { waitingQueueSize: 1, runningRequests: 2, kvCacheUsage: 0.5 };

function poolWith(...ids: readonly EndpointId[]): EndpointPool {
  const pool = new EndpointPool();
  for (const id of ids) pool.upsert({ id, address: `${id}:8000`, labels: new Map() });
  return pool;
}

describe('EndpointPool', () => {
  it('never changes a snapshot that was given out', () => {
    const pool = poolWith(a);
    const before = pool.snapshot();
    pool.observe(a, { ...sample, sampledAt: 5 });
    pool.upsert({ id: b, address: 'b:8000', labels: new Map() });
    expect(before).toHaveLength(1);
    expect(before[0]?.metrics.sampledAt).toBe(Number.NEGATIVE_INFINITY);
    expect(pool.snapshot()).toHaveLength(2);
  });

  it('gives the same snapshot until something changes', () => {
    const pool = poolWith(a, b);
    expect(pool.snapshot()).toBe(pool.snapshot());
  });

  it('[Q202] takes a load that an answer reports where the last sample is older than 200 ms, and keeps what it does not say', () => {
    const pool = poolWith(a);
    const report = { waitingQueueSize: 7, runningRequests: undefined, kvCacheUsage: 0.9 };
    pool.report(b, report, 0);
    pool.report(a, report, 0);
    expect(pool.get(a)?.metrics).toEqual({
      waitingQueueSize: 7,
      runningRequests: 0,
      kvCacheUsage: 0.9,
      sampledAt: 0,
    });
    pool.observe(a, { ...sample, sampledAt: 100 });
    pool.report(a, report, 300);
    expect(pool.get(a)?.metrics).toEqual({ ...sample, sampledAt: 100 });
    pool.report(a, report, 301);
    expect(pool.get(a)?.metrics).toEqual({
      ...sample,
      waitingQueueSize: 7,
      kvCacheUsage: 0.9,
      sampledAt: 301,
    });
  });

  it('drops a sample that is older than the one held, or for an endpoint that has gone', () => {
    const pool = poolWith(a);
    pool.observe(a, { ...sample, sampledAt: 10 });
    pool.observe(a, { ...sample, waitingQueueSize: 99, sampledAt: 9 });
    pool.observe(b, { ...sample, sampledAt: 11 });
    expect(pool.get(a)?.metrics.waitingQueueSize).toBe(1);
    expect(pool.get(b)).toBeUndefined();
  });

  it('keeps what is known through a change of labels and drops it with a change of address', () => {
    const pool = poolWith(a);
    pool.set(a, CACHE_CONFIG, { blockTokens: 16, blocks: 100 });
    pool.upsert({ id: a, address: `${a}:8000`, labels: new Map([['role', 'decode']]) });
    expect(pool.get(a)?.attribute(CACHE_CONFIG)?.blocks).toBe(100);
    pool.upsert({ id: a, address: 'elsewhere:8000', labels: new Map() });
    expect(pool.get(a)?.attribute(CACHE_CONFIG)).toBeUndefined();
  });

  it('gives each endpoint a slot of its own and reuses those of removed ones', () => {
    const pool = poolWith(a, b);
    const slots = pool.snapshot().map(({ slot }) => slot);
    expect(new Set(slots).size).toBe(2);
    pool.remove(a);
    pool.upsert({ id: a, address: 'new:8000', labels: new Map() });
    expect(pool.get(a)?.slot).toBe(slots[0]);
  });

  it('reports to observers what was there before them, and every later change', () => {
    const pool = poolWith(a);
    const events: string[] = [];
    pool.observeEndpoints({
      onEndpointAdded: ({ id }) => void events.push(`added ${id}`),
      onEndpointRemoved: ({ id }) => void events.push(`removed ${id}`),
      onEndpointChanged: ({ id }) => void events.push(`changed ${id}`),
    });
    pool.upsert({ id: b, address: 'b:8000', labels: new Map() });
    pool.observe(b, { ...sample, sampledAt: 1 });
    pool.remove(b);
    pool.remove(b);
    expect(events).toEqual([`added ${a}`, `added ${b}`, `changed ${b}`, `removed ${b}`]);
  });

  it('reports an endpoint as added before it reports a change, also one that an observer makes', () => {
    const pool = new EndpointPool();
    const seen: string[] = [];
    const watch = (name: string) => ({
      onEndpointAdded: (endpoint: Endpoint) =>
        void seen.push(`${name} added ${endpoint.attribute(CACHE_CONFIG)?.blocks ?? 'none'}`),
      onEndpointChanged: () => void seen.push(`${name} changed`),
    });
    pool.observeEndpoints(watch('first'));
    pool.observeEndpoints({
      onEndpointAdded: ({ id }) => pool.set(id, CACHE_CONFIG, { blocks: 7, blockTokens: 16 }),
    });
    pool.observeEndpoints(watch('last'));
    pool.upsert({ id: a, address: 'a:8000', labels: new Map() });
    expect(seen).toEqual(['first added none', 'first changed', 'last added 7']);
  });
});
