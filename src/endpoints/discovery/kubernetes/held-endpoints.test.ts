import { expect, it } from 'vitest';
import type { EndpointId } from '../../../framework/endpoint.ts';
import { EndpointPool } from '../../../picker/pool/endpoint-pool.ts';
import { HeldEndpoints } from './held-endpoints.ts';

it('held endpoints come all at once, as they are by then, and later ones at once', () => {
  const pool = new EndpointPool();
  const held = new HeldEndpoints(pool);
  const id = (name: string): EndpointId => name as EndpointId;
  const put = (name: string, address: string): void =>
    held.upsert({ id: id(name), address, labels: new Map() });
  const addresses = (): readonly string[] => pool.snapshot().map(({ address }) => address);
  put('a', '10.0.0.1:80');
  put('b', '10.0.0.2:80');
  put('b', '10.0.0.3:80');
  held.remove(id('a'));
  expect(addresses()).toEqual([]);
  held.release();
  expect(addresses()).toEqual(['10.0.0.3:80']);
  put('c', '10.0.0.4:80');
  held.remove(id('b'));
  expect(addresses()).toEqual(['10.0.0.4:80']);
});

it('[V344] endpoints beyond the bound wait until others leave, and that is said once', () => {
  const pool = new EndpointPool();
  const full: boolean[] = [];
  const held = new HeldEndpoints(pool, (is) => void full.push(is), 3);
  const id = (n: number): EndpointId => `e${n}` as EndpointId;
  const put = (n: number): void =>
    held.upsert({ id: id(n), address: `10.0.0.${n}:80`, labels: new Map() });
  const ids = (): string =>
    pool
      .snapshot()
      .map((each) => each.id)
      .join(' ');
  for (const n of [1, 2]) put(n);
  held.release();
  for (const n of [3, 4, 5, 6]) put(n);
  expect([ids(), full]).toEqual(['e1 e2 e3', [true]]);
  held.remove(id(5));
  held.remove(id(2));
  expect(ids()).toBe('e1 e3 e4');
  held.remove(id(1));
  expect([ids(), full]).toEqual(['e3 e4 e6', [true, false]]);
  held.remove(id(3));
  put(7);
  expect(ids()).toBe('e4 e6 e7');
});
