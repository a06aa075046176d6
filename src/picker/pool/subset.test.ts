import { describe, expect, it } from 'vitest';
import type { EndpointId } from '../../framework/endpoint.ts';
import { EndpointPool } from './endpoint-pool.ts';
import { subsetOf } from './subset.ts';

const pool = new EndpointPool();
for (const address of ['10.0.0.1:8000', '10.0.0.1:8001', '10.0.0.2:8000', '[fd00::1]:8000']) {
  pool.upsert({ id: address as EndpointId, address, labels: new Map() });
}
const allowed = (subset: readonly string[] | undefined): readonly string[] =>
  subsetOf(pool.snapshot(), subset).map(({ address }) => address);

describe('subsetOf', () => {
  it('allows all without a hint and none with an empty one', () => {
    expect(allowed(undefined)).toHaveLength(4);
    expect(allowed([])).toEqual([]);
  });

  it('allows the port that is given, and every port of a host without one', () => {
    expect(allowed(['10.0.0.1:8001'])).toEqual(['10.0.0.1:8001']);
    expect(allowed(['10.0.0.1'])).toEqual(['10.0.0.1:8000', '10.0.0.1:8001']);
    expect(allowed(['10.0.0.1:9999'])).toEqual([]);
  });

  it.each(['fd00::1', '[fd00::1]', '[FD00::1]:8000', ' [fd00::1]:8000 '])(
    'understands IPv6 written as %s',
    (entry) => {
      expect(allowed([entry])).toEqual(['[fd00::1]:8000']);
    },
  );
});
