import { describe, expect, it, test } from 'vitest';
import {
  namesWithoutPool,
  olderOnly,
  prioritiesOf,
  prioritiesOfV1,
  type RuleObject,
  rewritesOf,
} from './rule-objects.ts';

const GROUP = 'inference.networking.k8s.io';
const POOL = { namespace: 'n', name: 'pool', group: GROUP, version: 'v1' };
const poolRef = { group: GROUP, kind: 'InferencePool', name: 'pool' };

function made(name: string, spec: unknown, metadata: object = {}): RuleObject {
  return { metadata: { name, creationTimestamp: '2026-01-02T00:00:00Z', ...metadata }, spec };
}
const rewrite = (name: string, rules: unknown, metadata: object = {}): RuleObject =>
  made(name, { poolRef, rules }, metadata);
const exactly = (value: string): object => ({ model: { type: 'Exact', value } });
const targets = [{ modelRewrite: 'x' }];
const names = (objects: readonly RuleObject[]): readonly string[] =>
  rewritesOf(objects, POOL).value.map(({ rule }) => rule);

describe('InferenceObjectives', () => {
  it('have the priority they give, or 0', () => {
    const { value, troubles } = prioritiesOf(
      [made('a', { poolRef, priority: -5 }), made('b', { poolRef })],
      POOL,
    );
    expect([...value]).toEqual([
      ['a', -5],
      ['b', 0],
    ]);
    expect(troubles).toEqual([]);
  });

  test('[D466] have any priority that the API server stores; the least is one more, so that it can be negated', () => {
    const { value, troubles } = prioritiesOf(
      [
        made('least', { poolRef, priority: -(2 ** 31) }),
        made('most', { poolRef, priority: 2 ** 31 - 1 }),
      ],
      POOL,
    );
    expect([[...value.values()], troubles]).toEqual([[1 - 2 ** 31, 2 ** 31 - 1], []]);
  });

  it('of another pool, another group’s pool, or on their way out have none', () => {
    const { value, troubles } = prioritiesOf(
      [
        made('a', { poolRef: { ...poolRef, name: 'other' }, priority: 'nonsense' }),
        made('b', { poolRef: { ...poolRef, group: 'inference.networking.x-k8s.io' }, priority: 1 }),
        made('c', { poolRef, priority: 1 }, { deletionTimestamp: '2026-01-03T00:00:00Z' }),
      ],
      POOL,
    );
    expect([[...value], troubles]).toEqual([[], []]);
  });

  it('[D534] that name our pool in the group of the rules are reported: some definitions fill that in', () => {
    const filledIn = { ...poolRef, group: 'llm-d.ai' };
    const { value, troubles } = prioritiesOf(
      [
        made('a', { poolRef: filledIn, priority: 1 }),
        made('b', { poolRef: { ...filledIn, name: 'other' }, priority: 1 }),
      ],
      POOL,
    );
    expect([...value]).toEqual([]);
    expect(troubles).toEqual([
      'InferenceObjective a is not followed: its reference to pool has the group llm-d.ai, which has no InferencePools: set it to inference.networking.k8s.io',
    ]);
  });

  it.each([undefined, null, 7, {}, { poolRef: 'pool' }, { poolRef, priority: '5' }])(
    'whose spec is `%j` are reported and left out',
    (spec) => {
      const { value, troubles } = prioritiesOf(
        [made('odd', spec), made('fine', { poolRef, priority: 3 })],
        POOL,
      );
      expect([...value]).toEqual([['fine', 3]]);
      expect(troubles).toHaveLength(1);
      expect(troubles[0]).toMatch(/^InferenceObjective odd is not followed: spec/);
    },
  );
});

describe('InferenceObjectives of version v1', () => {
  test('[D94] are those of the pools in poolRefs', () => {
    const other = { ...poolRef, name: 'other' };
    const objects = [
      made('a', { poolRefs: [other, poolRef], priority: 7 }),
      made('b', { poolRefs: [other], priority: 'nonsense' }),
      made('of the older version', { priority: 3 }),
    ];
    const { value, troubles } = prioritiesOfV1(objects, POOL);
    expect([[...value], troubles]).toEqual([[['a', 7]], []]);
  });

  test('[D535] are not those of another kind of the same name in poolRefs', () => {
    const other = { ...poolRef, kind: 'InferencePoolImport' };
    const objects = [
      made('a', { poolRefs: [other], priority: 7 }),
      made('b', { poolRefs: [other, { name: 'pool' }], priority: 8 }),
    ];
    const { value, troubles } = prioritiesOfV1(objects, POOL);
    expect([[...value], troubles]).toEqual([[['b', 8]], []]);
  });

  test.each<[object, boolean]>([
    [{ matchLabels: { tier: 'gold' } }, true],
    [{ matchLabels: { tier: 'gold', zone: 'a' } }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'In', values: ['gold', 'iron'] }] }, true],
    [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }, false],
    [{ matchExpressions: [{ key: 'zone', operator: 'NotIn', values: ['a'] }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'NotIn', values: ['gold'] }] }, false],
    [{ matchExpressions: [{ key: 'tier', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'tier', operator: 'DoesNotExist' }] }, false],
    // Labels of that name are none that the pool has, though every object of JavaScript has them.
    [{ matchExpressions: [{ key: 'constructor', operator: 'Exists' }] }, false],
    [{ matchExpressions: [{ key: 'toString', operator: 'DoesNotExist' }] }, true],
  ])('[D400] with a poolSelector %j are those of pools with such labels', (selector, isOurs) => {
    const objects = [made('a', { poolSelector: selector, priority: 1 })];
    const { value, troubles } = prioritiesOfV1(objects, { ...POOL, labels: { tier: 'gold' } });
    expect([[...value.keys()], troubles]).toEqual([isOurs ? ['a'] : [], []]);
  });

  test('[D400] with a poolSelector and poolRefs are those of both, and an empty selector is reported', () => {
    const gold = { matchLabels: { tier: 'gold' } };
    const both = made('both', { poolRefs: [poolRef], poolSelector: gold, priority: 2 });
    const empty = made('empty', { poolSelector: {} });
    const { value, troubles } = prioritiesOfV1([both, empty], POOL);
    expect([...value]).toEqual([['both', 2]]);
    expect(troubles).toEqual([
      'InferenceObjective empty is not followed: spec.poolSelector: selects every pool: give it a label',
    ]);
  });
});

test('[D549] objectives that a server shows in both versions, without the fields of the other, count as the one in which they name a pool', () => {
  const inV1 = [made('newer', { poolRefs: [poolRef] }), made('older', {}), made('lost', {})];
  const inV1Alpha2 = [made('newer', {}), made('older', { poolRef, priority: 2 }), made('lost', {})];
  const older = olderOnly(inV1Alpha2, namesWithoutPool(inV1));
  const { value, troubles } = prioritiesOf(older, POOL);
  expect([...value]).toEqual([['older', 2]]);
  expect(troubles).toEqual([
    'InferenceObjective lost is not followed: spec.poolRef: name a pool; if the object names one, the API server has dropped that, because it stores this kind in another version: write the object in that version',
  ]);
  // Before v1 has been listed, it is not known which of them are of it.
  expect(prioritiesOf(olderOnly(inV1Alpha2, new Set()), POOL).troubles).toEqual([]);
});

describe('InferenceModelRewrites', () => {
  it('come the oldest first, those of one second by name, and each in its own order', () => {
    const rules = [{ targets }];
    expect(
      names([
        rewrite('young', rules, { creationTimestamp: '2026-01-10T00:00:00Z' }),
        rewrite('b', rules),
        rewrite('a', rules),
        rewrite('old', rules, { creationTimestamp: '2025-12-31T23:59:59Z' }),
      ]),
    ).toEqual(['old', 'a', 'b', 'young']);
    const { value } = rewritesOf(
      [rewrite('a', [{ matches: [exactly('m'), exactly('n')], targets }, { targets }])],
      POOL,
    );
    expect(value.map(({ models }) => models)).toEqual([['m', 'n'], []]);
  });

  it('keep weights, and are exact where they do not say how they match', () => {
    const { value } = rewritesOf(
      [
        rewrite('a', [
          {
            matches: [{ model: { value: 'm' } }],
            targets: [{ modelRewrite: 'x', weight: 3 }, { modelRewrite: 'y' }],
          },
        ]),
      ],
      POOL,
    );
    expect(value).toEqual([
      {
        rule: 'a',
        models: ['m'],
        targets: [
          { model: 'x', weight: 3 },
          { model: 'y', weight: undefined },
        ],
      },
    ]);
  });

  it('never take every request for a match they do not understand', () => {
    const regex = { model: { type: 'RegularExpression', value: '.*' } };
    expect(names([rewrite('a', [{ matches: [regex], targets }])])).toEqual([]);
    expect(names([rewrite('a', [{ matches: [{}], targets }])])).toEqual([]);
    const { value } = rewritesOf(
      [rewrite('a', [{ matches: [regex, exactly('m')], targets }])],
      POOL,
    );
    expect(value).toMatchObject([{ models: ['m'] }]);
  });

  it.each([
    [[{ targets: [] }], 'spec.rules.0.targets'],
    [[{ targets }, {}], 'spec.rules.1.targets'],
    [[{ targets: [{ modelRewrite: 'x', weight: 0 }] }], 'spec.rules.0.targets.0.weight'],
    [[{ targets: [{ modelRewrite: '' }] }], 'spec.rules.0.targets.0.modelRewrite'],
    [undefined, 'spec.rules'],
  ])('with rules `%j` are reported and left out', (rules, place) => {
    const { value, troubles } = rewritesOf([rewrite('odd', rules)], POOL);
    expect(value).toEqual([]);
    expect(troubles.join()).toContain(`InferenceModelRewrite odd is not followed: ${place}: `);
  });
});
