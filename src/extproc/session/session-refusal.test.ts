import { describe, expect, it } from 'vitest';
import {
  BODY,
  EARLY,
  headers,
  REQUEST,
  requestBody,
  requestHeaders,
  requestPart,
  responseHeaders,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import { RoutingError } from '../../framework/error.ts';
import type { LocalResponse, RequestLine } from '../../framework/request-control.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import { createOpenBody } from '../../openai/parsers/open-body.ts';
import type { SessionOptions } from './session.ts';

describe('a request that is refused', () => {
  it('[P10] refuses in OpenAI’s shape, with a reason and a time to wait, and then says nothing more', () => {
    const { send, actions, refused } = setUp();
    send(
      requestHeaders({ metadata: { subset: [], served: undefined } }),
      requestBody(BODY),
      requestBody(BODY),
      responseHeaders(),
    );
    expect(actions).toHaveLength(1);
    const [refusal] = actions;
    if (refusal?.kind !== 'immediate-response') throw new Error('not an immediate response');
    expect(Object.fromEntries(refusal.headers)).toEqual({
      'content-type': 'application/json',
      'x-llm-d-request-dropped-reason': 'rejected-no-endpoints',
      'retry-after': '1',
    });
    const error = { message: 'none of 3', type: 'server_error', param: null, code: 503 };
    expect(JSON.parse(refusal.body)).toEqual({ error: { ...error, reason: 'no-endpoints' } });
    expect(refused).toEqual(['no-endpoints']);
  });

  it('[D350] says which request was refused, unless it could not be read', () => {
    const refused: unknown[] = [];
    const onRefused: SessionOptions['onRefused'] = (_error, request) =>
      void refused.push(request?.model);
    const none = { metadata: { subset: [], served: undefined } };
    setUp({ onRefused }).send(requestHeaders(none), requestBody(BODY));
    setUp({ onRefused }).send(requestHeaders(), requestBody('{'));
    expect(refused).toEqual(['m', undefined]);
  });

  it('[D30] refuses a gRPC request with a gRPC status', () => {
    const { send, actions } = setUp();
    const sent = headers({ ...REQUEST, ':path': '/x.Y/Z', 'content-type': 'application/grpc' });
    const metadata = { subset: [], served: undefined };
    send(requestHeaders({ headers: sent, metadata }), requestBody(''));
    expect(actions).toMatchObject([
      { kind: 'immediate-response', status: 200, grpcStatus: 14, body: '' },
    ]);
  });

  it('[P11] answers an error of ours with 500 and reports it', () => {
    const broken = new Error('broken');
    const { send, actions, faults } = setUp({
      router: {
        route: () => {
          throw broken;
        },
      },
    });
    send(requestHeaders(), requestBody(BODY));
    expect(actions).toMatchObject([{ kind: 'immediate-response', status: 500 }]);
    expect(faults).toEqual([broken]);
  });

  it('[V57] takes transfer parameters out of a body, or refuses one where they came too late', () => {
    const openBody = createOpenBody({
      bodyBytesMax: 10_000,
      hashSeed: 1,
      onIgnored: () => undefined,
    });
    const start = `{"model":"m","messages":[{"content":"${'x'.repeat(2000)}"}]`;
    const duplex = setUp({ openBody });
    const end = ',"ec_transfer_params":[{"a":"}"}, 1] , "n":1}';
    duplex.send(requestHeaders(), requestPart(start), requestBody(end));
    const sent = duplex.actions.flatMap((action) =>
      action.kind === 'echo-request-body' ? [Buffer.concat(action.pieces).toString()] : [],
    );
    expect(sent.join('')).toBe(`${start},"ec_transfer_params":null , "n":1}`);
    const early = setUp({ openBody });
    early.send(requestHeaders(EARLY), requestPart(start), requestBody(end));
    expect(early.actions.at(-1)).toMatchObject({ kind: 'immediate-response', status: 400 });
    expect(JSON.stringify(early.actions.at(-1))).toContain('ec_transfer_params');
  });

  it('[P27] refuses a body by the size that is announced', () => {
    const { send, actions } = setUp();
    send(requestHeaders({ pairs: { 'content-length': '10000001' } } as never));
    expect(actions).toMatchObject([{ kind: 'immediate-response', status: 413 }]);
  });

  it('[P11] reports an observer that fails at the end, and still gives the reservation back', () => {
    const broken = new Error('observer');
    const faults: unknown[] = [];
    const routed = { request: { model: 'm' }, destinations: ['a:1'], headers: new Map() };
    const done = (): never => {
      throw broken;
    };
    const { send, session } = setUp({
      router: { route: () => ({ ...routed, done }) as unknown as RoutedRequest },
      onFault: (error) => void faults.push(error),
    });
    send(requestHeaders(), requestBody(BODY));
    session.closed('cancelled');
    expect(faults).toEqual([broken]);
  });
});

describe('answers of the picker itself', () => {
  const local = { status: 200, contentType: 'application/json', body: '{}' };

  it('[D59] takes the place of a pick where a plugin answers, and ends the request', () => {
    const asked: unknown[] = [];
    const respond = (request: RequestLine): LocalResponse => {
      asked.push(request);
      return local;
    };
    const { send, actions, ended, routed } = setUp({ respond });
    const pairs = { ':method': 'GET', ':path': '/v1/models?x' };
    send(requestHeaders({ pairs, endOfStream: true }), requestHeaders({ endOfStream: true }));
    const content = [['content-type', 'application/json']];
    expect(actions).toEqual([
      { kind: 'immediate-response', status: 200, headers: content, body: '{}' },
    ]);
    expect(asked).toEqual([{ method: 'GET', path: '/v1/models?x' }]);
    expect([...ended, ...routed]).toEqual([]);
  });

  it('[D59] leaves requests with a body, and those that no plugin answers, to the pick', () => {
    const { send, kinds } = setUp({ respond: () => undefined });
    send(requestHeaders({ pairs: { ':method': 'GET' }, endOfStream: true }));
    expect(kinds()).toEqual(['answer-request-headers']);
    const withBody = setUp({ respond: () => local });
    withBody.send(requestHeaders());
    expect(withBody.kinds()).not.toContain('immediate-response');
  });

  it('[G165] names the endpoint of a pick to a client that asks for no more, and passes nothing on', () => {
    const { send, actions, ended, routed } = setUp({ answersEndpointOnly: () => true });
    const pairs = { prefer: 'reserve-endpoint' };
    send(requestHeaders({ pairs }), requestBody(BODY), responseHeaders());
    expect(actions).toMatchObject([{ kind: 'immediate-response', status: 204, body: '' }]);
    expect(ended).toEqual([{ outcome: 'completed', usage: undefined }]);
    expect(routed[0]?.options).toMatchObject({ firstTokenVisible: false, endVisible: false });
    const without = setUp();
    without.send(requestHeaders({ pairs }), requestBody(BODY));
    expect(without.actions).toMatchObject([{ kind: 'immediate-response', status: 500 }]);
    expect(without.routed).toEqual([]);
  });

  it('[D59] refuses the request with the plugin’s own error', () => {
    const { send, actions } = setUp({
      respond: () => {
        throw new RoutingError('no-endpoints', 'not yet');
      },
    });
    send(requestHeaders({ endOfStream: true }));
    expect(actions).toMatchObject([{ kind: 'immediate-response', status: 503 }]);
  });
});
