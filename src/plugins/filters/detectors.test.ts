import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime, NOW } from '../../../test/makers.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { FilterDefinition } from '../../framework/plugin.ts';
import { concurrencyDetector, utilizationDetector } from './detectors.ts';

const pool = makePool([
  { waiting: 4, kv: 0.7 },
  { waiting: 5 },
  { kv: 0.8 },
  { sampledAt: NOW - 201 },
]);
const load = [
  { requests: 99, pendingPrefillTokens: 2_000_000 },
  { requests: 100 },
  { requests: 105 },
  {},
];

function kept(definition: FilterDefinition, parameters: object = {}): readonly string[] {
  const filter = definition.create(definition.config.parse(parameters), makeRuntime());
  return filter.filter(pool, makeContext({ load })).map(({ id }) => id);
}

describe('utilization-detector as a filter', () => {
  it('keeps what is below both bounds and scraped of late', () => {
    expect(kept(utilizationDetector)).toEqual(['pod-0']);
  });

  it('[Q321] has the bound of the queue for each engine behind an address', () => {
    const filter = utilizationDetector.create(utilizationDetector.config.parse({}), makeRuntime());
    const attributes = [[ENGINE_COUNT as never, 4]] as never;
    const endpoints = makePool([
      { waiting: 19, attributes },
      { waiting: 20, attributes },
      { waiting: 5 },
    ]);
    expect(filter.filter(endpoints, makeContext({})).map(({ id }) => id)).toEqual(['pod-0']);
  });

  it('leaves room above the bounds as configured', () => {
    expect(kept(utilizationDetector, { headroom: 0.1 })).toEqual(['pod-0', 'pod-1', 'pod-2']);
  });

  it('takes a staleness in Go’s notation, and keeps all where none is left', () => {
    expect(kept(utilizationDetector, { metricsStalenessThreshold: '1s' })).toEqual([
      'pod-0',
      'pod-3',
    ]);
    expect(kept(utilizationDetector, { kvCacheUtilThreshold: 0.001 })).toHaveLength(4);
  });
});

describe('concurrency-detector as a filter', () => {
  it('keeps what has fewer requests in flight than the bound', () => {
    expect(kept(concurrencyDetector)).toEqual(['pod-0', 'pod-3']);
    expect(kept(concurrencyDetector, { headroom: 0.05 })).toEqual(['pod-0', 'pod-1', 'pod-3']);
  });

  it('counts tokens, or both', () => {
    expect(kept(concurrencyDetector, { concurrencyMode: 'tokens' })).toEqual([
      'pod-1',
      'pod-2',
      'pod-3',
    ]);
    expect(kept(concurrencyDetector, { concurrencyMode: 'hybrid' })).toEqual(['pod-3']);
  });

  it('keeps no endpoint where none is below', () => {
    const config = concurrencyDetector.config.parse({ maxConcurrency: 50 });
    const filter = concurrencyDetector.create(config, makeRuntime());
    expect(filter.filter(pool.slice(0, 3), makeContext({ load }))).toEqual([]);
  });
});

describe('[D333] parameters of detectors are refused as in the reference', () => {
  it.each([
    [{ queueDepthThreshold: 0 }, utilizationDetector],
    [{ queueDepthThreshold: 1.5 }, utilizationDetector],
    [{ kvCacheUtilThreshold: 1.1 }, utilizationDetector],
    [{ metricsStalenessThreshold: '0s' }, utilizationDetector],
    [{ metricsStalenessThreshold: '-1s' }, utilizationDetector],
    [{ headroom: -0.1 }, utilizationDetector],
    [{ maxConcurrency: 0.5 }, concurrencyDetector],
    [{ maxTokenConcurrency: -1 }, concurrencyDetector],
    [{ concurrencyMode: 'bytes' }, concurrencyDetector],
  ])('%j', (parameters, { config }) => {
    expect(() => config.parse(parameters)).toThrow();
  });
});
