import type { Endpoint } from '../../../src/framework/endpoint.ts';
import type { RoutedRequest } from '../../../src/framework/routing.ts';

/** A routed request on which nothing has an effect, but for what is given. */
export function inertRouted(
  given: Pick<RoutedRequest, 'request' | 'destinations' | 'done'>,
): RoutedRequest {
  return {
    endpoint: {} as Endpoint,
    headers: new Map(),
    responseHeaders: () => new Map(),
    firstToken: () => undefined,
    served: () => undefined,
    bodyRead: () => undefined,
    wantsAnswer: false,
    answered: () => undefined,
    ...given,
  };
}
