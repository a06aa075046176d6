import { describe, expect, it } from 'vitest';
import type { EndpointId } from '../../src/framework/endpoint.ts';
import { LORA } from '../../src/framework/endpoint-attributes.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { HeldAdapters } from './held-adapters.ts';

/** Endpoints `a` and `b`, whose adapters that run can be set. */
function world() {
  const pool = new EndpointPool();
  const held = new HeldAdapters();
  pool.observeEndpoints({
    onEndpointChanged: (endpoint, previous) => held.changed(endpoint, previous),
    onEndpointRemoved: (endpoint) => held.forget(endpoint),
  });
  const at = (name: string) => pool.get(name as EndpointId) ?? expect.fail(`no endpoint ${name}`);
  const runs = (name: string, ...adapters: readonly string[]): void =>
    pool.set(name as EndpointId, LORA, {
      running: new Set(adapters),
      waiting: new Set<string>(),
      max: 2,
    });
  for (const name of ['a', 'b']) {
    pool.upsert({ id: name as EndpointId, address: `${name}:8000`, labels: new Map() });
    runs(name);
  }
  const share = (name: string, adapter: string) => held.heldShare(at(name), adapter, 2);
  return { pool, held, at, runs, share };
}

describe('HeldAdapters', () => {
  it('[Q171] takes the last adapters that a batch has room for as held, and older ones the less, the more came since', () => {
    const { held, at, runs, share } = world();
    runs('a', 'one');
    runs('a');
    expect([share('a', 'one'), share('b', 'one'), share('a', 'other')]).toEqual([1, 0, 0]);
    for (const adapter of ['two', 'three', 'four']) runs('a', adapter);
    expect(['four', 'three', 'two', 'one'].map((each) => share('a', each))).toEqual([
      1,
      1,
      2 / 3,
      2 / 4,
    ]);
    held.routed(at('a'), 'one');
    expect([share('a', 'one'), share('a', 'three')]).toEqual([1, 2 / 3]);
  });

  it('[Q171] does not take a model for an adapter that no engine has reported as one', () => {
    const { pool, held, at, runs, share } = world();
    held.routed(at('a'), 'base');
    expect([held.isAdapter('base'), share('a', 'base')]).toEqual([false, 0]);
    runs('a', 'one');
    held.routed(at('b'), 'one');
    expect([held.isAdapter('one'), share('b', 'one')]).toEqual([true, 1]);
    pool.remove('a' as EndpointId);
    expect(held.isAdapter('one')).toBe(true);
    pool.remove('b' as EndpointId);
    expect(held.isAdapter('one')).toBe(false);
  });

  it('[Q171] remembers at most 64 adapters of an endpoint', () => {
    const { held, runs } = world();
    for (let index = 0; index < 100; index++) runs('a', `adapter-${index}`);
    const known = Array.from({ length: 100 }, (_, index) => held.isAdapter(`adapter-${index}`));
    expect(known).toEqual(known.map((_, index) => index >= 36));
  });
});
