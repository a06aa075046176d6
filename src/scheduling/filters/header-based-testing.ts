import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { defineFilter, type FilterDefinition } from '../../framework/plugin.ts';

const HEADER = 'test-epp-endpoint-selection';

/**
 * For conformance tests: keeps the endpoints that a header of the request names, by `ip` or `ip:port`, in its order and
 * one for each address. None without the header.
 */
export const headerBasedTestingFilter: FilterDefinition = defineFilter({
  type: 'header-based-testing-filter',
  config: z.strictObject({}),
  create: () => ({
    filter(endpoints, { request }) {
      const named = (request.headers.get(HEADER) ?? '').split(',').map((name) => name.trim());
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
