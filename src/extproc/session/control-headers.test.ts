import { describe, expect, it } from 'vitest';
import {
  BODY,
  requestBody,
  requestHeaders,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import type { RoutedRequest } from '../../framework/routing.ts';

describe('control headers', () => {
  it('[P12] removes the control headers a client sent, and only those', () => {
    const { send, actions } = setUp();
    send(
      requestHeaders({ pairs: { 'x-prefiller-host-port': 'h:1', 'x-mine': '1' } } as never),
      requestBody(BODY),
    );
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: ['x-prefiller-host-port'] } });
  });

  it('[P12] keeps a control header that the pick sets', () => {
    const { send, actions } = setUp({
      router: {
        route: (request) =>
          ({
            request,
            destinations: ['a:1'],
            headers: new Map([['x-prefiller-host-port', 'b:2']]),
          }) as unknown as RoutedRequest,
      },
    });
    send(
      requestHeaders({ pairs: { 'x-prefiller-host-port': 'evil:1' } } as never),
      requestBody(BODY),
    );
    expect(actions[0]).toMatchObject({ pick: { removeHeaders: [] } });
    expect(actions[0]).toMatchObject({
      pick: { setHeaders: expect.arrayContaining([['x-prefiller-host-port', 'b:2']]) },
    });
  });
});
