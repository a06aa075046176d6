import { z } from 'zod';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type DataSourceDefinition, defineScreener } from '../../framework/plugin.ts';
import { PIN_HEADER } from '../../framework/routing.ts';

/** The usual port of HTTP, which a URL leaves out. */
const HTTP_PORT = '80';

/**
 * Keeps only the endpoint whose `host:port` a request names in `x-llm-d-pin-host-port`, such as the
 * server that another leg of the same request has named. Where that is no candidate, none is left,
 * and the request is refused with 503. Requests without the header may go anywhere.
 */
export const endpointPin: DataSourceDefinition = defineScreener({
  type: 'endpoint-pin-screener',
  config: z.strictObject({}),
  headers: () => [{ name: PIN_HEADER, as: 'name' }],
  start: () => ({
    screen(endpoints, { request }): readonly Endpoint[] {
      const asked = request.headers.get(PIN_HEADER) ?? '';
      if (asked === '') return endpoints;
      const wanted = spelledOut(asked);
      return endpoints.filter(({ address }) => spelledOut(address) === wanted);
    },
    stop: () => undefined,
  }),
});

/** The same text for each spelling of one `host:port`; any other text as it is. */
function spelledOut(address: string): string {
  const url = /^[\w.:[\]-]+$/.test(address) ? URL.parse(`http://${address}`) : null;
  return url === null ? address : `${url.hostname}:${url.port || HTTP_PORT}`;
}
