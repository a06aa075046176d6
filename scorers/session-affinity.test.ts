import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../src/framework/endpoint.ts';
import type { InferenceRequest } from '../src/framework/request.ts';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NOW,
} from '../test/makers.ts';
import { sessionAffinity } from './session-affinity.ts';

const pool = makePool([{}, {}, {}]);
const [first, second] = pool as readonly [Endpoint, Endpoint, Endpoint];

function create(parameters: object = {}): ReturnType<typeof sessionAffinity.create> {
  const config = sessionAffinity.config.parse({ strategy: 'session_id', ...parameters });
  return sessionAffinity.create(config, makeRuntime());
}

function from(session: string, header = 'x-session-id'): InferenceRequest {
  return makeRequest({ headers: new Map([[header, session]]) });
}

describe('session-affinity-scorer', () => {
  it('prefers the endpoint that served the session last', () => {
    const scorer = create();
    const context = makeContext({ request: from('a') });
    scorer.onRouted?.(makeRouted(first, { request: from('a') }));
    expect(scorer.score(pool, context)).toEqual([1, 0, 0]);
    scorer.onRouted?.(makeRouted(second, { request: from('a') }));
    expect(scorer.score(pool, context)).toEqual([0, 1, 0]);
  });

  it('[D504] prefers the endpoint with the fewest sessions for another session', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(first, { request: from('a') }));
    scorer.onRouted?.(makeRouted(second, { request: from('c') }));
    expect(scorer.score(pool, makeContext({ request: from('b') }))).toEqual([0, 0, 1]);
  });

  it('has no favourite for a request without a session', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(first, { request: from('a') }));
    scorer.onRouted?.(makeRouted(first));
    expect(scorer.score(pool, makeContext())).toEqual([0, 0, 0]);
  });

  it('takes the first header present of those that are configured, in any letter case', () => {
    const sources = [{ header: 'X-Chat' }, { header: 'x-user' }];
    const scorer = create({ strategy: 'session_id', sessionIdConfig: { sources } });
    scorer.onRouted?.(makeRouted(second, { request: from('u1', 'x-user') }));
    const context = makeContext({ request: from('u1', 'x-chat') });
    expect(scorer.score(pool, context)).toEqual([0, 1, 0]);
  });

  it('forgets a session unused for five minutes', () => {
    const scorer = create();
    scorer.onRouted?.(makeRouted(first, { request: from('a') }));
    const later = (ms: number): readonly number[] =>
      scorer.score(pool, makeContext({ request: from('a'), now: NOW + ms }));
    expect(later(300_000)).toEqual([1, 0, 0]);
    // Until another session is bound, the one that is forgotten counts at its endpoint.
    expect(later(300_001)[0]).toBe(0);
  });

  it('does not send a session to a new server that has an old name', () => {
    const scorer = create();
    const context = makeContext({ request: from('a') });
    scorer.onRouted?.(makeRouted(first, { request: from('a') }));
    scorer.onEndpointRemoved?.(first);
    scorer.onEndpointAdded?.(first);
    scorer.onRouted?.(makeRouted(first, { request: from('b') }));
    expect(scorer.score(pool, context)[0]).toBe(0);
  });

  it('follows a token that responses give, unless configured to remember sessions', () => {
    const scorer = sessionAffinity.create(sessionAffinity.config.parse({}), makeRuntime());
    const request = makeRequest({ headers: new Map([['x-session-token', btoa('pod-2')]]) });
    expect(scorer.score(pool, makeContext({ request }))).toEqual([0, 0, 1]);
  });
});
