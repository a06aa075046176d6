import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { kubernetesOrSkip } from '../../bench/support/kubernetes.ts';
import { eventually } from '../../bench/support/stack.ts';
import { BoundsBed, FORMER, portsOf, RULES } from '../support/kubernetes/bounds-bed.ts';
import { createRule, where } from '../support/kubernetes/rule-objects.ts';

/** Objectives and rewrites at the bounds of their definitions, on a real kube-apiserver. */

const binaries = kubernetesOrSkip();

describe.skipIf(binaries === undefined)('rules at the bounds of their definitions', () => {
  let bed: BoundsBed;
  beforeAll(async () => {
    if (binaries !== undefined) bed = await BoundsBed.start(binaries);
  });
  afterAll(async () => {
    await bed?.stop();
  });

  test('objectives have every priority that the server stores, a thousand of them, and no other namespace’s', async () => {
    await bed.hand.createPool({
      selector: { matchLabels: { app: 'none' } },
      targetPorts: portsOf(8000),
    });
    const { rules, discovery } = bed.follow('pool');
    const priority = (name: string, wanted: number): Promise<number> =>
      eventually(
        () => rules.priorityOf(name),
        (found) => found === wanted,
      );
    const create = (name: string, spec: object): Promise<void> =>
      createRule(bed.server.config, RULES, 'inferenceobjectives', name, spec);
    await create('most', { priority: 2 ** 31 - 1 });
    await create('least', { priority: -(2 ** 31) });
    await priority('most', 2 ** 31 - 1);
    await eventually(
      () => rules.priorityOf('least'),
      (found) => found < -2_000_000_000,
    );
    await expect(create('too-much', { priority: 2 ** 31 })).rejects.toThrow('priority');
    await expect(create('no-pool', { poolRef: undefined })).rejects.toThrow('poolRef');
    await create('elsewhere', { poolRef: { group: FORMER, name: 'pool' }, priority: 9 });
    for (let from = 0; from < 1000; from += 50) {
      const some = Array.from({ length: 50 }, (_, at) => from + at);
      await Promise.all(some.map((n) => create(`n-${n}`, { priority: n + 1 })));
    }
    await priority('n-999', 1000);
    await eventually(
      () => rules.priorities.size,
      (found) => found === 1002,
    );
    const at = { ...where(RULES, 'inferenceobjectives'), name: 'n-999' };
    await bed.core.createNamespace({ body: { metadata: { name: 'other' } } });
    await bed.custom.createNamespacedCustomObject({
      ...at,
      namespace: 'other',
      body: {
        apiVersion: `${RULES}/v1alpha2`,
        kind: 'InferenceObjective',
        metadata: { name: 'n-999' },
        spec: { poolRef: { name: 'pool' }, priority: 7 },
      },
    });
    await bed.custom.deleteNamespacedCustomObject(at);
    await create('n-999', { priority: -4 });
    await priority('n-999', -4);
    await bed.custom.deleteNamespacedCustomObject(at);
    await priority('n-999', 0);
    expect(rules.priorityOf('elsewhere')).toBe(0);
    expect(discovery.troubles).toEqual([]);
  });

  test('rewrites are one step, have weights of any sum, and none of 0', async () => {
    const { rules, discovery } = bed.follow('pool');
    const exactly = (value: string): object[] => [{ model: { type: 'Exact', value } }];
    const create = (name: string, each: object[]): Promise<void> =>
      createRule(bed.server.config, RULES, 'inferencemodelrewrites', name, { rules: each });
    await expect(create('zero', [{ targets: [{ modelRewrite: 'x', weight: 0 }] }])).rejects.toThrow(
      'weight',
    );
    await create('cycle', [
      { matches: exactly('a'), targets: [{ modelRewrite: 'b' }] },
      { matches: exactly('b'), targets: [{ modelRewrite: 'a' }] },
      {
        matches: exactly('split'),
        targets: [
          { modelRewrite: 'large', weight: 1_000_000 },
          { modelRewrite: 'small', weight: 250_000 },
          { modelRewrite: 'never' },
        ],
      },
      { matches: exactly('self'), targets: [{ modelRewrite: 'self' }] },
    ]);
    await eventually(
      () => rules.rewriteOf('a', 'id')?.model,
      (found) => found === 'b',
    );
    expect([rules.rewriteOf('b', 'id')?.model, rules.rewriteOf('self', 'id')?.model]).toEqual([
      'a',
      'self',
    ]);
    const models = Array.from(
      { length: 2000 },
      (_, n) => rules.rewriteOf('split', `r-${n}`)?.model,
    );
    const large = models.filter((model) => model === 'large').length;
    expect(models.includes('never')).toBe(false);
    expect(large / models.length).toBeCloseTo(0.8, 1);
    await bed.custom.deleteNamespacedCustomObject({
      ...where(RULES, 'inferencemodelrewrites'),
      name: 'cycle',
    });
    await eventually(
      () => rules.rewriteOf('a', 'id'),
      (found) => found === undefined,
    );
    expect(discovery.troubles).toEqual([]);
  });
});
