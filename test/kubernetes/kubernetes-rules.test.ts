import { CustomObjectsApi, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import { kubeconfigAccess } from '../../src/commands/api-access/kubeconfig-access.ts';
import {
  followRules,
  type RuleFollower,
} from '../../src/endpoints/discovery/kubernetes/rules/follow-rules.ts';
import { RULE_GROUPS } from '../../src/endpoints/discovery/kubernetes/rules/rule-objects.ts';
import { RequestRules } from '../../src/endpoints/rewrites/request-rules.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { hastyClock } from '../support/kubernetes/hasty-clock.ts';
import { installRuleCrds, removeRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { createRule, type Plural, where } from '../support/kubernetes/rule-objects.ts';
import { UNPACED } from '../support/kubernetes/unpaced.ts';

/** InferenceObjectives and InferenceModelRewrites of a real kube-apiserver, in both API groups. */

const binaries = kubernetesOrSkip();
const [CURRENT, LEGACY] = RULE_GROUPS;
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
describe.skipIf(binaries === undefined)('the rules of requests on a real API server', () => {
  let server: ApiServer;
  let custom: CustomObjectsApi;
  let rules: RequestRules;
  let follower: RuleFollower;
  const troubles: string[] = [];
  /** The number of rules at each change. */
  const counts: number[] = [];

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    custom = server.config.makeApiClient(CustomObjectsApi);
    await eventually(
      () =>
        custom.getAPIResources({ group: CURRENT, version: 'v1alpha2' }).then(
          () => 200,
          (error: { readonly code?: number }) => error.code,
        ),
      (status) => status === 404,
    );
    rules = new RequestRules(seededRandom(1));
    follower = followRules({
      server: { access: kubeconfigAccess(server.config), pace: UNPACED },
      pool: { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' },
      rules: {
        setObjectives: (priorities) => rules.setObjectives(priorities),
        setRewrites: (rewrites) => {
          counts.push(rewrites.length);
          rules.setRewrites(rewrites);
        },
        whenAdopted: (then) => rules.whenAdopted(then),
      },
      clock: hastyClock(),
      random: seededRandom(1),
      onSettled: () => undefined,
      onTrouble: (sentence) => void troubles.push(sentence),
    });
  });
  afterAll(async () => {
    follower?.stop();
    await server?.stop();
  });

  const create = (group: string, plural: Plural, name: string, spec: object): Promise<void> =>
    createRule(server.config, group, plural, name, spec);
  const patch = (group: string, plural: Plural, name: string, spec: object): Promise<unknown> =>
    custom.patchNamespacedCustomObject({ ...where(group, plural), name, body: { spec } }, merge);
  const remove = (group: string, plural: Plural, name: string): Promise<unknown> =>
    custom.deleteNamespacedCustomObject({ ...where(group, plural), name });

  const priority = (objective: string, wanted: number): Promise<number> =>
    eventually(
      () => rules.priorityOf(objective),
      (found) => found === wanted,
    );
  const target = (model: string): string | undefined => rules.rewriteOf(model, 'id')?.model;
  const servedBy = (model: string, wanted: string | undefined): Promise<string | undefined> =>
    eventually(
      () => target(model),
      (found) => found === wanted,
    );
  const to = (...models: readonly string[]) => models.map((modelRewrite) => ({ modelRewrite }));
  const exactly = (...models: readonly string[]) =>
    models.map((value) => ({ model: { type: 'Exact', value } }));

  it('are none where no kind is installed, which is no trouble', async () => {
    await eventually(
      () => follower.synced,
      (synced) => synced,
    );
    expect([rules.priorityOf('any'), target('any')]).toEqual([0, undefined]);
    expect(troubles).toEqual([]);
  });

  it('are followed once the legacy group’s kinds are installed: created, changed and deleted', async () => {
    await installRuleCrds(server.config, LEGACY);
    await create(LEGACY, 'inferenceobjectives', 'interactive', { priority: 10 });
    await create(LEGACY, 'inferenceobjectives', 'plain', {});
    await create(LEGACY, 'inferencemodelrewrites', 'chat', {
      rules: [{ matches: exactly('chat'), targets: to('chat-v1') }],
    });
    await priority('interactive', 10);
    await servedBy('chat', 'chat-v1');
    expect(rules.priorityOf('plain')).toBe(0);
    await patch(LEGACY, 'inferenceobjectives', 'interactive', { priority: -3 });
    await patch(LEGACY, 'inferencemodelrewrites', 'chat', {
      rules: [{ matches: exactly('chat'), targets: to('chat-v2') }],
    });
    await priority('interactive', -3);
    await servedBy('chat', 'chat-v2');
    await remove(LEGACY, 'inferenceobjectives', 'interactive');
    await remove(LEGACY, 'inferencemodelrewrites', 'chat');
    await priority('interactive', 0);
    await servedBy('chat', undefined);
  });

  it('are another pool’s where they say so', async () => {
    const others = [{ name: 'other' }, { name: 'pool', group: 'inference.networking.x-k8s.io' }];
    for (const [n, poolRef] of others.entries()) {
      await create(LEGACY, 'inferenceobjectives', `theirs-${n}`, { poolRef, priority: 5 });
    }
    await create(LEGACY, 'inferenceobjectives', 'ours', { priority: 5 });
    await priority('ours', 5);
    expect([rules.priorityOf('theirs-0'), rules.priorityOf('theirs-1')]).toEqual([0, 0]);
    await patch(LEGACY, 'inferenceobjectives', 'ours', { poolRef: { name: 'other' } });
    await priority('ours', 0);
  });

  it('put a name’s own rule before one for all, and the older object before the younger', async () => {
    await create(LEGACY, 'inferencemodelrewrites', 'z-older', {
      rules: [{ targets: to('base') }, { matches: exactly('a', 'b'), targets: to('old') }],
    });
    await servedBy('anything', 'base');
    const created = async (name: string): Promise<unknown> => {
      const read = await custom.getNamespacedCustomObject({
        ...where(LEGACY, 'inferencemodelrewrites'),
        name,
      });
      return (read as { metadata: { creationTimestamp: string } }).metadata.creationTimestamp;
    };
    // Timestamps are whole seconds: recreated until it is younger.
    const older = await created('z-older');
    await eventually(
      async () => {
        await create(LEGACY, 'inferencemodelrewrites', 'a-younger', {
          rules: [{ matches: exactly('b', 'c'), targets: to('young') }],
        });
        const younger = await created('a-younger');
        if (younger === older) await remove(LEGACY, 'inferencemodelrewrites', 'a-younger');
        return younger;
      },
      (younger) => younger !== older,
    );
    await servedBy('c', 'young');
    expect([target('a'), target('b'), target(''), target('d')]).toEqual([
      'old',
      'old',
      'base',
      'base',
    ]);
  });

  it('say once what cannot be followed, and go on with the rest', async () => {
    await create(LEGACY, 'inferencemodelrewrites', 'broken', { rules: [{ matches: [] }] });
    await eventually(
      () => troubles.length,
      (count) => count > 0,
    );
    expect(troubles).toEqual([
      expect.stringMatching(
        /^InferenceModelRewrite broken is not followed: spec\.rules\.0\.targets/,
      ),
    ]);
    await create(LEGACY, 'inferencemodelrewrites', 'fine', {
      rules: [{ matches: exactly('fine'), targets: to('fine-v2') }],
    });
    await servedBy('fine', 'fine-v2');
    expect(troubles).toHaveLength(1);
    expect(follower.troubles).toEqual(troubles);
  });

  it('stay while the API server is away, and are brought up to date after it', async () => {
    counts.length = 0;
    await server.kill();
    await eventually(
      () => troubles.length,
      (count) => count > 1,
    );
    expect(target('fine')).toBe('fine-v2');
    expect(follower.synced).toBe(true);
    await server.restart();
    const spec = { rules: [{ matches: exactly('fine'), targets: to('fine-v3') }] };
    // A server that has just come up answers 503 where it does not know yet what kinds there are.
    await eventually(
      () =>
        patch(LEGACY, 'inferencemodelrewrites', 'fine', spec).then(
          () => true,
          () => false,
        ),
      (patched) => patched,
    );
    await servedBy('fine', 'fine-v3');
    expect(counts).not.toContain(0);
  });

  it('are the current group’s where both are installed, and the legacy ones are not looked at', async () => {
    await installRuleCrds(server.config, CURRENT);
    await create(CURRENT, 'inferencemodelrewrites', 'chat', {
      rules: [{ matches: exactly('chat'), targets: to('current') }],
    });
    const both = new RequestRules(seededRandom(1));
    const later = followRules({
      server: { access: kubeconfigAccess(server.config), pace: UNPACED },
      pool: { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' },
      rules: both,
      clock: hastyClock(),
      random: seededRandom(1),
      onSettled: () => undefined,
      onTrouble: () => undefined,
    });
    await eventually(
      () => both.rewriteOf('chat', 'id')?.model,
      (model) => model === 'current',
    );
    expect(both.rewriteOf('fine', 'id')).toBeUndefined();
    later.stop();
  });

  it('move to the other group when the kinds of the one are deleted', async () => {
    await removeRuleCrds(server.config, LEGACY);
    await servedBy('chat', 'current');
    expect(target('fine')).toBeUndefined();
  });
});
