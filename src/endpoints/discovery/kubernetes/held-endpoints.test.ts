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
