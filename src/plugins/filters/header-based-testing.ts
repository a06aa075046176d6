import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';
import { bareHostOf } from '../../framework/values/server-address.ts';

const HEADER = 'test-epp-endpoint-selection';

const config = z.strictObject({ like: z.enum(['epp', 'lwepp']).default('epp') });

/**
 * For conformance tests: keeps the endpoints that a header of the request names, by `ip` or
 * `ip:port`. With `like: epp` it does as the reference's filter: one endpoint for each address, in
 * the order of the header, and none without the header. With `like: lwepp` it does as the small
 * picker in the suite of the Gateway API Inference Extension: every port of an address, and all
 * endpoints without the header.
 */
export const headerBasedTestingFilter: FilterDefinition = defineFilter({
  type: 'header-based-testing-filter',
  config,
  headers: () => [{ name: HEADER, as: 'name' }],
  create: ({ like }) => ({
    filter(endpoints, { request }) {
      const named = (request.headers.get(HEADER) ?? '').split(',').map((name) => name.trim());
      if (like === 'lwepp') {
        if (named.every((name) => name === '')) return endpoints;
        return endpoints.filter((endpoint) => named.some((name) => names(endpoint, name)));
      }
      const found = new Map<string, Endpoint>();
      for (const name of named) {
        const endpoint = endpoints.find((each) => names(each, name));
        if (endpoint === undefined) continue;
        const host = bareHostOf(endpoint.address);
        if (!found.has(host)) found.set(host, endpoint);
      }
      return [...found.values()];
    },
  }),
});

function names({ address }: Endpoint, name: string): boolean {
  return (
    name !== '' && (address === name || bareHostOf(address) === name.replace(/^\[(.*)\]$/, '$1'))
  );
}
