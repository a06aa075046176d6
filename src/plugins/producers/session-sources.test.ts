import { describe, expect, test } from 'vitest';
import {
  makeContext,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { DataSource, DataSourceDefinition } from '../../framework/plugin.ts';
import type { CycleKey, SchedulingContext } from '../../framework/scheduling.ts';
import { sessionAffinityFilter } from '../filters/session-affinity.ts';
import { agentIdentity } from './agent-identity.ts';
import { sessionIdProducer } from './session-id.ts';

function start(definition: DataSourceDefinition, parameters: unknown, name?: string): DataSource {
  const pool = { snapshot: () => [], observe: () => undefined, set: () => undefined };
  const config = definition.config.parse(parameters);
  return definition.start(config, { name: name ?? definition.type, pool, runtime: makeRuntime() });
}

/** A cycle of a request with these headers, with the facts of this source alone. */
function contextOf(source: DataSource, headers: Record<string, string>): SchedulingContext {
  const request = makeRequest({ headers: new Map(Object.entries(headers)) });
  const base = makeContext({ request });
  const get = <T>(key: CycleKey<T>): T => {
    const fact = source.facts?.find((each) => each.key.name === key.name);
    return fact === undefined ? base.get(key) : (fact.compute([], base) as T);
  };
  return { ...base, get };
}

/** The only fact of the source for a request with these headers. */
function factOf(source: DataSource, headers: Record<string, string>): unknown {
  return source.facts?.[0]?.compute([], contextOf(source, headers));
}

describe('agent-identity', () => {
  test.each<[Record<string, string>, string | undefined]>([
    [{ 'x-claude-code-session-id': 'a', 'x-session-affinity': 'b' }, 'a'],
    [{ 'x-session-affinity': 'b', 'session-id': 'c' }, 'b'],
    [{ 'session-id': 'c', session_id: 'd' }, 'c'],
    [{ session_id: 'd' }, 'd'],
    [{ 'x-claude-code-session-id': ' ', session_id: 'd' }, 'd'],
    [{ 'x-session-id': 'e' }, undefined],
  ])('[D55] of %j the session is `%s`', (headers, session) => {
    const source = start(agentIdentity, {});
    expect(source.fairnessId?.(new Map(Object.entries(headers)))).toBe(session);
    expect(factOf(source, headers)).toBe(session);
  });

  test('[D55] further headers count before the known ones, in any case', () => {
    const parameters = { additionalSessionHeaders: ['X-Session-Id'] };
    const headers = { 'x-session-id': 'mine', 'x-claude-code-session-id': 'a' };
    expect(factOf(start(agentIdentity, parameters), headers)).toBe('mine');
    const config = agentIdentity.config.parse(parameters);
    expect(agentIdentity.headers?.(config)?.map(({ name }) => name)).toEqual([
      'x-session-id',
      'x-claude-code-session-id',
      'x-session-affinity',
      'session-id',
      'session_id',
    ]);
  });
});

describe('session-id-producer', () => {
  test.each<[object, Record<string, string>, string | undefined]>([
    [{ headerName: 'X-Chat' }, { 'x-chat': ' c1 ' }, 'c1'],
    [{ headerName: 'x-chat' }, {}, undefined],
    [{ cookieName: 'sid' }, { cookie: 'a=1; sid=s=2; sid=3' }, 's=2'],
    [{ cookieName: 'sid' }, { cookie: 'asid=1; SID=2; sid' }, undefined],
    [{ cookieName: 'sid' }, { sid: '1' }, undefined],
  ])('[D56] %j reads of %j the session `%s`', (parameters, headers, session) => {
    expect(factOf(start(sessionIdProducer, parameters), headers)).toBe(session);
  });

  test.each([{ headerName: 'a', cookieName: 'b' }, { headerName: ' ' }])(
    '[D56] %j is refused: exactly one source is needed',
    (parameters) => {
      expect(() => sessionIdProducer.config.parse(parameters)).toThrow(/exactly one/);
    },
  );
});

describe('session affinity by an attribute', () => {
  const pool = makePool([{}, {}]);
  const [first, second] = pool as readonly [Endpoint, Endpoint];

  test.each<[string, DataSource, object, Record<string, string>]>([
    [
      'a producer’s session id',
      start(sessionIdProducer, { cookieName: 'sid' }, 'chat'),
      { attribute: 'SessionIDDataKey', producer: 'chat' },
      { cookie: 'sid=s1' },
    ],
    [
      'the agent’s identity',
      start(agentIdentity, {}),
      { attribute: 'agent-identity' },
      { 'session-id': 's1' },
    ],
  ])('[D57] binds sessions by %s', (_name, source, read, headers) => {
    const config = sessionAffinityFilter.config.parse({
      strategy: 'session_id',
      sessionIdConfig: { sources: [read] },
    });
    const needs = sessionAffinityFilter.needs?.(config).map(({ name }) => name);
    expect(needs).toEqual(source.facts?.map(({ key }) => key.name));
    const filter = sessionAffinityFilter.create(config, makeRuntime());
    const context = contextOf(source, headers);
    expect(filter.filter(pool, context)).toEqual([first]);
    filter.onRouted?.(makeRouted(second, { request: context.request }));
    expect(filter.filter(pool, contextOf(source, headers))).toEqual([second]);
    expect(filter.filter(pool, contextOf(source, {}))).toHaveLength(2);
  });

  test('[D57] a source names a header or an attribute, not both', () => {
    for (const source of [{}, { header: 'a', attribute: 'b' }]) {
      const parameters = { sessionIdConfig: { sources: [source] } };
      expect(() => sessionAffinityFilter.config.parse(parameters)).toThrow(/exactly one/);
    }
  });
});
