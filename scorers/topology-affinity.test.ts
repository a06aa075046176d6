import { describe, expect, it } from 'vitest';
import { topologyExtractor } from '../src/endpoints/scraping/topology-extractor.ts';
import { topologyKey } from '../src/framework/cycle-facts.ts';
import type { CycleKey, SchedulingContext } from '../src/framework/scheduling.ts';
import { topologyAffinityFilter } from '../src/plugins/filters/topology-affinity.ts';
import { makeContext, makePool, makeRuntime } from '../test/makers.ts';
import { topologyAffinity } from './topology-affinity.ts';

const at = (host: string, rack: string, zone: string, region = 'r') => ({
  labels: {
    'kubernetes.io/hostname': host,
    'topology.kubernetes.io/rack': rack,
    'topology.kubernetes.io/zone': zone,
    'topology.kubernetes.io/region': region,
  },
});
const pool = makePool([
  at('h1', 'a', 'z1'),
  at('h2', 'a', 'z1'),
  at('h3', 'b', 'z1'),
  at('h4', 'c', 'z2'),
  at('h5', 'd', 'z3', 'elsewhere'),
  {},
]);
const [peer] = makePool([at('h1', 'a', 'z1')]);

const { facts = [] } = topologyExtractor.start(topologyExtractor.config.parse({}), {
  name: 'topology-extractor',
  pool: { snapshot: () => pool, observe: () => undefined, set: () => undefined },
  runtime: makeRuntime(),
});

function context(withPeer: boolean): SchedulingContext {
  return {
    ...makeContext(),
    ...(withPeer && { peer }),
    get<T>(key: CycleKey<T>): T {
      expect(key.name).toBe(topologyKey().name);
      return facts[0]?.compute(pool, makeContext()) as T;
    },
  };
}

function scores(parameters: object, withPeer = true): readonly number[] {
  const scorer = topologyAffinity.create(topologyAffinity.config.parse(parameters), makeRuntime());
  return scorer.score(pool, context(withPeer));
}

function kept(parameters: object, withPeer = true): readonly string[] {
  const config = topologyAffinityFilter.config.parse(parameters);
  const filter = topologyAffinityFilter.create(config, makeRuntime());
  return filter.filter(pool, context(withPeer)).map(({ id }) => id);
}

describe('topology-affinity-scorer', () => {
  it('prefers the same host, rack, zone and region as the other endpoint of the request', () => {
    expect(scores({})).toEqual([1, 0.2, 0.05, 0.02, 0, 0]);
  });

  it('puts a block between the rack and the zone', () => {
    const block = 'topology.kubernetes.io/block';
    const label = { ...at('h9', 'far', 'z1').labels, [block]: 'b' };
    const [near] = makePool([{ labels: label }]);
    const scorer = topologyAffinity.create(topologyAffinity.config.parse({}), makeRuntime());
    expect(near && scorer.score([near], { ...context(true), peer: near })).toEqual([1]);
    const [other] = makePool([{ labels: { ...at('h8', 'b', 'z1').labels, [block]: 'b' } }]);
    expect(other && near && scorer.score([other], { ...context(true), peer: near })).toEqual([0.1]);
  });

  it('without one, prefers what is near the picker itself, if that is known', () => {
    expect(scores({ own: { zone: 'z2' } }, false)).toEqual([0, 0, 0, 0.05, 0, 0]);
    expect(scores({}, false)).toEqual([0, 0, 0, 0, 0, 0]);
  });
});

describe('topology-affinity-filter', () => {
  it.each([
    ['host', 1],
    ['rack', 2],
    ['zone', 3],
    ['region', 4],
  ])('keeps those that share at least the %s', (minAffinity, count) => {
    expect(kept({ minAffinity })).toHaveLength(count);
  });

  it('keeps all where none is near, and where there is nothing to be near to', () => {
    expect(kept({ own: { zone: 'nowhere' }, minAffinity: 'zone' }, false)).toHaveLength(6);
    expect(kept({}, false)).toHaveLength(6);
  });
});
