import { describe, expect, test } from 'vitest';
import { makeContext, makeEndpoint, makeRequest, makeRuntime } from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { labelQuery, parseLabelQuery } from '../parameters/label-query.ts';
import { disaggregatedSetRollout, RolloutScreener } from './disaggregatedset-rollout.ts';
import { rolloutConfig } from './rollout-config.ts';

const SEED = 11;
const REVISION = 'disaggregatedset.x-k8s.io/revision';
const ROLE = 'disaggregatedset.x-k8s.io/role';

/** `count` servers of a revision and role in the set `s`. */
function servers(revision: string, role: string, count: number): Endpoint[] {
  const labels = { set: 's', [REVISION]: revision, [ROLE]: role };
  return Array.from({ length: count }, (_, at) =>
    makeEndpoint(`${revision}-${role}-${at}`, { labels }),
  );
}

/** Two prefill and nine decode servers of `a`, one of each of `b`. */
const ROLLOUT = [
  ...servers('a', 'prefill', 2),
  ...servers('a', 'decode', 9),
  ...servers('b', 'prefill', 1),
  ...servers('b', 'decode', 1),
];

function screenerOf(parameters: object, pool: readonly Endpoint[] = ROLLOUT): RolloutScreener {
  const config = rolloutConfig.parse({ scope: { labelSelector: 'set=s' }, ...parameters });
  const writer = { snapshot: () => pool, observe: () => undefined, set: () => undefined };
  return new RolloutScreener(config, { name: 'r', pool: writer, runtime: makeRuntime() });
}

const gating = (mode: string, more: object = {}): object => ({
  revisionGating: { mode, requiredRoles: ['prefill', 'decode'], ...more },
});

/** The revisions that screening keeps. */
function kept(
  screener: RolloutScreener,
  headers: Record<string, string> = {},
  { id = 'r0', pool = ROLLOUT }: { id?: string; pool?: readonly Endpoint[] } = {},
): string {
  const request = makeRequest({ id, headers: new Map(Object.entries(headers)) });
  const context = makeContext({ request, random: seededRandom(SEED).fork(id) });
  const left = screener.screen(pool, context);
  return [...new Set(left.map(({ labels }) => labels.get(REVISION)))].join(' ');
}

describe('shares of revisions', () => {
  const mixed = [
    ...servers('a', 'prefill', 3),
    ...servers('a', 'decode', 1),
    ...servers('b', 'prefill', 1),
    ...servers('b', 'decode', 3),
  ];
  const other = makeEndpoint('x', { labels: { set: 't', [REVISION]: 'a', [ROLE]: 'decode' } });

  test.each<[string, string, readonly Endpoint[], Record<string, number>]>([
    ['by the largest role', 'max-role', ROLLOUT, { a: 0.9, b: 0.1 }],
    ['by all servers', 'sum', ROLLOUT, { a: 11 / 13, b: 2 / 13 }],
    [
      'none where each lacks a role',
      'max-role',
      [...servers('a', 'prefill', 1), ...servers('b', 'decode', 5)],
      { a: 0, b: 0 },
    ],
    [
      'none for one that lacks a role',
      'sum',
      [...ROLLOUT, ...servers('c', 'decode', 50)],
      { a: 11 / 13, b: 2 / 13, c: 0 },
    ],
    ['of equal roles by the first that is required', 'max-role', mixed, { a: 0.75, b: 0.25 }],
    ['none out of scope', 'sum', [other], {}],
  ])('[D64] %s (%s)', (_name, mode, pool, shares) => {
    expect(Object.fromEntries(screenerOf(gating(mode), pool).rollout().shares)).toEqual(shares);
  });

  test('[D64] a server with several ports counts once', () => {
    const rank = (port: number): Endpoint => ({
      ...(servers('b', 'decode', 1)[0] as Endpoint),
      address: `10.0.0.1:${port}`,
    });
    const pool = [...servers('a', 'decode', 1), rank(1), rank(2), rank(3)];
    const { shares } = screenerOf(gating('sum', { requiredRoles: ['decode'] }), pool).rollout();
    expect(Object.fromEntries(shares)).toEqual({ a: 0.5, b: 0.5 });
  });

  test('[D64] follow the pool', () => {
    const pool = [...servers('a', 'prefill', 1), ...servers('a', 'decode', 1)];
    const screener = screenerOf(gating('sum'), pool);
    expect(screener.rollout().shares.get('a')).toBe(1);
    pool.push(...servers('b', 'prefill', 1), ...servers('b', 'decode', 1));
    screener.onEndpointAdded();
    expect(screener.rollout().shares.get('b')).toBe(0.5);
  });
});

describe('screening', () => {
  test('[D65] keeps one revision, drawn by share', () => {
    const screener = screenerOf(gating('max-role'));
    const counts = new Map<string, number>();
    for (let at = 0; at < 2000; at++) {
      const left = kept(screener, {}, { id: `r${at}` });
      counts.set(left, (counts.get(left) ?? 0) + 1);
    }
    expect([...counts.keys()].sort()).toEqual(['a', 'b']);
    expect((counts.get('b') ?? 0) / 2000).toBeCloseTo(0.1, 1);
  });

  test('[D65] keeps none where no revision has all roles', () => {
    const pool = servers('a', 'decode', 3);
    expect(kept(screenerOf(gating('sum'), pool), {}, { pool })).toBe('');
  });

  test('[D65] gives a request the revision that it asks for, or none', () => {
    const screener = screenerOf(gating('sum'));
    expect(kept(screener, { 'x-llm-d-disagg-revision': 'b' })).toBe('b');
    expect(kept(screener, { 'x-llm-d-disagg-revision': 'c' })).toBe('');
    expect(Object.fromEntries(screener.rollout().unmatched)).toEqual({ revision: 1 });
  });

  test('[D65] without gating keeps all revisions but those that strict headers exclude', () => {
    const screener = screenerOf({
      headerSelectors: [
        { name: 'revision', headerName: 'X-Rev', labelKey: REVISION, mode: 'strict' },
        { name: 'role', headerName: 'x-role', labelKey: ROLE, mode: 'prefer' },
      ],
      revisionGating: { mode: 'disabled' },
    });
    expect(kept(screener)).toBe('a b');
    expect(kept(screener, { 'x-rev': 'a', 'x-role': 'none' })).toBe('a');
    expect([...screener.responseHeaders(ROLLOUT[0] as Endpoint)]).toEqual([
      ['x-rev', 'a'],
      ['x-role', 'prefill'],
    ]);
  });

  test.each([
    {},
    { revisionGating: { mode: 'sum' } },
    { revisionGating: { mode: 'sum', requireRoles: { values: [] } } },
    { revisionGating: { mode: 'other', requiredRoles: ['a'] } },
    { ...gating('sum'), scope: { labelSelector: '' } },
    { ...gating('sum'), scope: { labelSelector: 'a in b' } },
  ])('[D65] is not configured by %j', (parameters) => {
    const given = { scope: { labelSelector: 'set=s' }, ...parameters };
    expect(() => disaggregatedSetRollout.config.parse(given)).toThrow();
  });
});

describe('label selectors as text', () => {
  test.each<[string, Record<string, string>, boolean]>([
    ['a=1', { a: '1' }, true],
    ['a=', { a: '' }, true],
    ['a == 1 , b!=2', { a: '1' }, true],
    ['a=1,b!=2', { a: '1', b: '2' }, false],
    ['x.io/a in (1, 2)', { 'x.io/a': '2' }, true],
    ['a notin (1,2)', {}, true],
    ['a notin (1,2)', { a: '1' }, false],
    ['a', { a: '' }, true],
    ['!a', { a: '' }, false],
    ['', {}, true],
  ])('[D65] %j of %j: %s', (query, labels, matches) => {
    const parsed = parseLabelQuery(labelQuery.parse(query));
    expect(parsed(new Map(Object.entries(labels)))).toBe(matches);
  });

  test.each(['a in 1', '=1', 'a,,b', 'a in (1'])('[D65] %j is none', (query) => {
    expect(() => labelQuery.parse(query)).toThrow(/no label selector/);
  });
});
