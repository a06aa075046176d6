import { expect, it } from 'vitest';
import type { EndpointId } from '../framework/endpoint.ts';
import { CACHE_CONFIG } from '../framework/endpoint-attributes.ts';
import { EndpointPool } from '../picker/pool/endpoint-pool.ts';
import { applyEndpointRecord } from './captured-inputs.ts';

it.each([{}, { matchTokens: 128 }, { keepsPrefixes: false as const }])(
  '[Q331] an endpoint of a capture has the cache that its page said: %j',
  (more) => {
    const pool = new EndpointPool();
    const cache = { blockTokens: 16, blocks: 400, ...more };
    applyEndpointRecord({ pool }, { e: '+', id: 'a', address: 'a:1', labels: {} });
    applyEndpointRecord({ pool }, { e: 'cache', id: 'a', ...cache });
    expect(pool.get('a' as EndpointId)?.attribute(CACHE_CONFIG)).toEqual(cache);
  },
);
