import { describe, expect, it } from 'vitest';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
  NOW,
} from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { ProfileResult } from '../../framework/scheduling.ts';
import { sessionAffinityFilter } from './session-affinity.ts';

const pool = makePool([{}, {}, {}]);
const [first, second, third] = pool as readonly [Endpoint, Endpoint, Endpoint];

function create(parameters: unknown = {}): ReturnType<typeof sessionAffinityFilter.create> {
  return sessionAffinityFilter.create(
    sessionAffinityFilter.config.parse(parameters),
    makeRuntime(),
  );
}

function kept(
  filter: ReturnType<typeof create>,
  headers: Record<string, string>,
  endpoints: readonly Endpoint[] = pool,
): readonly string[] {
  const request = makeRequest({ headers: new Map(Object.entries(headers)) });
  return filter.filter(endpoints, makeContext({ request })).map(({ id }) => id);
}

const picked = (profile: string, endpoint: Endpoint): ProfileResult => ({
  kind: 'picked',
  profile,
  targets: [{ endpoint, score: 1 }],
});

describe('session-affinity-filter', () => {
  it('keeps the endpoint whose id a token carries in base64, and no other', () => {
    expect(kept(create(), { 'x-session-token': btoa('pod-1') })).toEqual(['pod-1']);
  });

  it.each([{}, { 'x-session-token': '' }, { 'x-session-token': 'nonsense' }])(
    'keeps all for %j',
    (headers) => {
      expect(kept(create(), headers)).toHaveLength(3);
    },
  );

  it('keeps all while the bound endpoint is no candidate', () => {
    expect(kept(create(), { 'x-session-token': btoa('pod-1') }, [first])).toEqual(['pod-0']);
  });

  it('gives the token of the endpoint that answers on each response', () => {
    const filter = create();
    const primary = picked('default', first);
    const result = { primary, headers: new Map(), profiles: [primary] };
    const headers = new Map(filter.responseHeaders?.(second, result, undefined));
    expect([...headers]).toEqual([['x-session-token', btoa('pod-1')]]);
    expect(kept(filter, Object.fromEntries(headers))).toEqual(['pod-1']);
  });

  it('gives the pick of a profile instead where configured so, and nothing where that did not run', () => {
    const filter = create({
      encodedEndpointHeaderConfig: { header: 'X-Home', profileName: 'prefill' },
    });
    const profiles = [picked('decode', first), picked('prefill', second)];
    const result = { primary: profiles[0] as ProfileResult, headers: new Map(), profiles };
    expect([...(filter.responseHeaders?.(first, result, undefined) ?? [])]).toEqual([
      ['x-home', btoa('pod-1')],
    ]);
    const alone = { ...result, profiles: profiles.slice(0, 1) };
    expect([...(filter.responseHeaders?.(first, alone, undefined) ?? [])]).toEqual([]);
  });

  it('remembers sessions by their id where configured so', () => {
    const filter = create({ strategy: 'session_id' });
    const request = makeRequest({ headers: new Map([['x-session-id', 's']]) });
    filter.onRouted?.(makeRouted(second, { request }));
    expect(kept(filter, { 'x-session-id': 's' })).toEqual(['pod-1']);
    expect(kept(filter, {})).toHaveLength(3);
  });

  it('[D504] keeps, for a session that is bound to no candidate, the one with the fewest sessions', () => {
    const filter = create({ strategy: 'session_id', sessionIdConfig: { evictionTtlSeconds: 5 } });
    const bind = (session: string, endpoint: Endpoint, at = NOW): void => {
      const request = makeRequest({ headers: new Map([['x-session-id', session]]) });
      filter.onRouted?.(makeRouted(endpoint, { request, at }));
    };
    bind('a', first);
    bind('b', second);
    bind('b', second);
    bind('c', third);
    bind('d', third);
    expect(kept(filter, { 'x-session-id': 'new' }, [first, third])).toEqual(['pod-0']);
    expect(kept(filter, { 'x-session-id': 'd' }, [first, second])).toHaveLength(1);
    bind('e', first);
    expect(kept(filter, { 'x-session-id': 'new' })).toEqual(['pod-1']);
    // Those of before are forgotten.
    bind('f', second, NOW + 6000);
    bind('g', first, NOW + 6000);
    expect(kept(filter, { 'x-session-id': 'new' })).toEqual(['pod-2']);
  });

  it('[D504] counts a session at its profile’s endpoint before the answer says which that was', () => {
    const filter = create({ strategy: 'session_id', profileName: 'prefill' });
    const send = (id: string): readonly string[] => {
      const request = makeRequest({ headers: new Map([['x-session-id', id]]) });
      const left = filter.filter(pool, makeContext({ request }));
      filter.onRouted?.(makeRouted(third, { request }));
      return left.map((each) => each.id);
    };
    expect(['a', 'b', 'c', 'a'].flatMap(send)).toEqual(['pod-0', 'pod-1', 'pod-2', 'pod-0']);
  });

  it('[D153] moves a session by id only with a request whose endpoint was no candidate', () => {
    const filter = create({ strategy: 'session_id' });
    const headers = new Map([['x-session-id', 's']]);
    const send = (candidates: readonly Endpoint[], to: Endpoint): readonly string[] => {
      const request = makeRequest({ headers });
      const left = filter.filter(candidates, makeContext({ request }));
      // A scorer only prefers the endpoint: the request may go elsewhere.
      filter.onRouted?.(makeRouted(to, { request }));
      return left.map(({ id }) => id);
    };
    expect(send([first, second, third], second)).toHaveLength(1);
    expect(send([first, second, third], first)).toEqual(['pod-1']);
    expect(send([first, second, third], first)).toEqual(['pod-1']);
    expect(send([first, third], third)).toHaveLength(1);
    expect(send([first, second, third], third)).toEqual(['pod-2']);
  });

  it('[V51] distinguishes long session ids that begin alike', () => {
    const filter = create({ strategy: 'session_id' });
    const bind = (session: string, endpoint: Endpoint): void => {
      const request = makeRequest({ headers: new Map([['x-session-id', session]]) });
      filter.onRouted?.(makeRouted(endpoint, { request }));
    };
    const long = 's'.repeat(50_000);
    bind(`${long}1`, second);
    bind(`${long}2`, first);
    expect(kept(filter, { 'x-session-id': `${long}1` })).toEqual([second.id]);
    expect(kept(filter, { 'x-session-id': `${long}2` })).toEqual([first.id]);
    expect(kept(filter, { 'x-session-id': long })).toEqual(['pod-2']);
  });
});
