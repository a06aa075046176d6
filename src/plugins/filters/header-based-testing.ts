import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

const HEADER = 'test-epp-endpoint-selection';

const config = z.strictObject({ like: z.enum(['epp', 'lwepp']).default('epp') });

/**
 * For conformance tests: keeps the endpoints that a header of the request names, by `ip` or `ip:port`. `like: epp`, as the
 * reference's filter: in the header's order and one for each address, none without the header. `like: lwepp`, as the small
 * picker of the Gateway API inference extension's suite: every port of an address alone, all without the header.
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
        const host = hostOf(endpoint.address);
        if (!found.has(host)) found.set(host, endpoint);
      }
      return [...found.values()];
    },
  }),
});

function names({ address }: Endpoint, name: string): boolean {
  return name !== '' && (address === name || hostOf(address) === name.replace(/^\[(.*)\]$/, '$1'));
}

/** Without brackets. */
function hostOf(address: string): string {
  return address.slice(0, address.lastIndexOf(':')).replace(/^\[(.*)\]$/, '$1');
}
