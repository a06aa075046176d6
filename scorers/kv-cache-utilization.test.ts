import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime, NEVER } from '../test/makers.ts';
import { kvCacheUtilization } from './kv-cache-utilization.ts';

const scorer = kvCacheUtilization.create(kvCacheUtilization.config.parse({}), makeRuntime());

describe('kv-cache-utilization-scorer', () => {
  it('scores the share of KV memory that is free', () => {
    const pool = makePool([{ kv: 0 }, { kv: 0.25 }, { kv: 1 }]);
    expect(scorer.score(pool, makeContext())).toEqual([1, 0.75, 0]);
  });

  it('bounds what an engine reports beyond full', () => {
    expect(scorer.score(makePool([{ kv: 1.02 }, { kv: 0.5 }]), makeContext())).toEqual([0, 0.5]);
  });

  it('does not take an endpoint never scraped for an empty one', () => {
    const pool = makePool([{ kv: 0.9 }, { sampledAt: NEVER }]);
    expect(scorer.score(pool, makeContext())[1]).toBe(0);
  });
});
