import { expect, it } from 'vitest';
import { makeContext, makePool, makeRequest, makeRuntime } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { endpointPin } from './endpoint-pin.ts';

const ADDRESSES = ['10.0.0.1:8000', '10.0.0.1:8001', '[fd00::1]:8000', '10.0.0.2:80'];

it.each([
  [undefined, [0, 1, 2, 3]],
  ['', [0, 1, 2, 3]],
  ['10.0.0.1:8001', [1]],
  ['[fd00:0:0::0001]:8000', [2]],
  ['10.0.0.2:80', [3]],
  ['10.0.0.1', []],
  ['10.0.0.9:8000', []],
  ['10.0.0.1:8000/v1', []],
  ['10.0.0.1:99999', []],
])('[G170] a request that names `%s` as its endpoint keeps it, or none', (asked, kept) => {
  const pool = makePool(ADDRESSES.map(() => ({}))).map(
    (endpoint, at) => ({ ...endpoint, address: ADDRESSES[at] }) as Endpoint,
  );
  const host = { name: 'pin', runtime: makeRuntime(), pool: undefined as never };
  const headers = new Map(asked === undefined ? [] : [['x-llm-d-pin-host-port', asked]]);
  const context = makeContext({ request: makeRequest({ headers }) });
  const screened = endpointPin.start({}, host).screen?.(pool, context);
  expect(screened?.map(({ slot }) => slot)).toEqual(kept);
});
