import { describe, expect, it } from 'vitest';
import {
  BODY,
  mode,
  REQUEST_TRAILERS,
  requestBody,
  requestHeaders,
  requestPart,
  responseEnd,
  responseHeaders,
  setUp,
} from '../../../test/support/session/session-bed.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { BODY_MODE } from '../codec/stream-event.ts';

describe('a session whose request needs something first', () => {
  /** Waits until it may go on. */
  function setUpWaiting() {
    const waits: { request: InferenceRequest; body: string; ready: () => void }[] = [];
    const set = setUp({}, undefined, (request, body, ready) => {
      waits.push({ request, body: Buffer.concat(body).toString(), ready });
      return true;
    });
    return { ...set, waits, ready: () => waits[0]?.ready() };
  }

  it('[E10] answers nothing until it is there, and then as if it had not waited', () => {
    const at = BODY.length - 10;
    const pieces = [requestPart(BODY.slice(0, at)), requestBody(BODY.slice(at))];
    const plain = setUp();
    plain.send(requestHeaders(), ...pieces);
    const waiting = setUpWaiting();
    waiting.send(requestHeaders(), ...pieces);
    expect(waiting.actions).toEqual([]);
    expect(waiting.waits.map(({ body }) => body)).toEqual([BODY]);
    waiting.ready();
    expect(waiting.actions).toEqual(plain.actions);
    expect(waiting.routed[0]?.request).toBe(waiting.waits[0]?.request);
  });

  it('[E10] takes what comes meanwhile afterwards, in its order', () => {
    const plain = setUp();
    const events = [requestHeaders(), requestPart(BODY), REQUEST_TRAILERS];
    const after = [responseHeaders(), responseEnd('x')];
    plain.send(...events, ...after);
    const waiting = setUpWaiting();
    waiting.send(...events, ...after);
    expect(waiting.actions).toEqual([]);
    waiting.ready();
    expect(waiting.actions).toEqual(plain.actions);
    expect(waiting.ended).toEqual(plain.ended);
  });

  it('[E10] waits in BUFFERED mode before the answer to the body', () => {
    const { send, kinds, ready } = setUpWaiting();
    send(requestHeaders(mode(BODY_MODE.buffered)), requestBody(BODY));
    expect(kinds()).toEqual(['answer-request-headers']);
    ready();
    expect(kinds()).toEqual(['answer-request-headers', 'answer-request-body']);
  });

  it('[E10] picks nothing for a request that has ended meanwhile', () => {
    const { session, send, actions, routed, ready, faults } = setUpWaiting();
    send(requestHeaders(), requestBody(BODY));
    session.closed('cancelled');
    ready();
    expect([actions, routed, faults]).toEqual([[], [], []]);
  });

  it('[E10] refuses a request that cannot be routed after the wait', () => {
    const { send, kinds, ready, refused } = setUpWaiting();
    const subset = { metadata: { subset: [], served: undefined } };
    send(requestHeaders(subset), requestBody(BODY));
    ready();
    expect(kinds()).toEqual(['immediate-response']);
    expect(refused).toEqual(['no-endpoints']);
  });
});
