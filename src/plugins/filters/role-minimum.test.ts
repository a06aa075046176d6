import { describe, expect, it } from 'vitest';
import { makeContext, makePool, makeRuntime } from '../../../test/makers.ts';
import { roleMinimumFilter } from './role-minimum.ts';

const role = (value: string) => ({ labels: { 'llm-d.ai/role': value } });
const pool = makePool([role('prefill'), role('both'), role('decode'), {}]);

function filterOf(minReady: object) {
  return roleMinimumFilter.create(roleMinimumFilter.config.parse({ minReady }), makeRuntime());
}

describe('role-minimum-filter', () => {
  it.each([
    [{ prefill: 2 }, 4],
    [{ prefill: 3 }, 0],
    // One without a role decodes.
    [{ decode: 3 }, 4],
    [{ decode: 4 }, 0],
    [{ prefill: 1, encode: 1 }, 0],
  ])('with at least %j keeps %i of the four', (minReady, kept) => {
    const filter = filterOf(minReady);
    for (const endpoint of pool) filter.onEndpointAdded?.(endpoint);
    expect(filter.filter(pool, makeContext())).toHaveLength(kept);
  });

  it('counts the pool, and not those it is shown', () => {
    const filter = filterOf({ prefill: 2 });
    for (const endpoint of pool) filter.onEndpointAdded?.(endpoint);
    expect(filter.filter(pool.slice(3), makeContext())).toHaveLength(1);
  });

  it('follows endpoints that leave and that change their role', () => {
    const filter = filterOf({ prefill: 2 });
    for (const endpoint of pool) filter.onEndpointAdded?.(endpoint);
    const [first, , third] = pool;
    if (first === undefined || third === undefined) throw new Error('no pool');
    filter.onEndpointRemoved?.(first);
    expect(filter.filter(pool, makeContext())).toEqual([]);
    const changed = { ...third, labels: new Map([['llm-d.ai/role', 'both']]) };
    filter.onEndpointChanged?.(changed, third);
    expect(filter.filter(pool, makeContext())).toHaveLength(4);
    filter.onEndpointChanged?.({ ...changed }, changed);
    expect(filter.filter(pool, makeContext())).toHaveLength(4);
  });

  it.each([{}, { prefill: 0 }, { prefill: 1.5 }, { router: 1 }, { decode: '1' }])(
    'refuses %j as minimums',
    (minReady) => {
      expect(() => filterOf(minReady)).toThrow();
    },
  );
});
