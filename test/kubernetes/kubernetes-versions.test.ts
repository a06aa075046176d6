import { ApiextensionsV1Api, CustomObjectsApi } from '@kubernetes/client-node';
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
import type { RuleVersion } from '../../src/endpoints/discovery/kubernetes/rules/rule-source.ts';
import { RequestRules } from '../../src/endpoints/rewrites/request-rules.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { hastyClock } from '../support/kubernetes/hasty-clock.ts';
import { installRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { createRule } from '../support/kubernetes/rule-objects.ts';
import { UNPACED } from '../support/kubernetes/unpaced.ts';

/** Objectives whose definition comes to be served in other versions, on a real kube-apiserver. */

const binaries = kubernetesOrSkip();
const [CURRENT, LEGACY] = RULE_GROUPS;
const PLURAL = 'inferenceobjectives';
const ANY = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
/** As the reference’s definitions have it: the server drops other fields. */
const objective = (fields: object): object => ({
  type: 'object',
  properties: { priority: { type: 'integer' }, ...fields },
});
const POOL_REF = { type: 'object', properties: { name: { type: 'string' } } };

describe.skipIf(binaries === undefined)('objectives whose versions come and go', () => {
  let server: ApiServer;
  let rules: RequestRules;
  let follower: RuleFollower;
  const ignored: string[] = [];
  const reported: string[] = [];

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    await installRuleCrds(server.config, LEGACY);
    await createRule(server.config, LEGACY, PLURAL, 'former', { priority: 3 });
    await createRule(server.config, LEGACY, 'inferencemodelrewrites', 'chat', {
      rules: [{ targets: [{ modelRewrite: 'chat-v1' }] }],
    });
    await serveVersions({ v1: true, v1alpha2: true });
    await createVersioned('v1alpha2', 'older', { poolRef: { name: 'pool' }, priority: 1 });
    await createVersioned('v1', 'newer', { poolRefs: [{ name: 'pool' }], priority: 2 });
    rules = new RequestRules(seededRandom(1));
    follower = follow(rules);
  });
  afterAll(async () => {
    follower?.stop();
    await server?.stop();
  });

  function follow(followed: RequestRules): RuleFollower {
    return followRules({
      server: { access: kubeconfigAccess(server.config), pace: UNPACED },
      pool: { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' },
      rules: followed,
      clock: hastyClock(),
      random: seededRandom(1),
      onSettled: () => undefined,
      onTrouble: (sentence) => void reported.push(sentence),
      onLeftOut: (sentence) => void ignored.push(sentence),
    });
  }

  /** Objectives of the current group, served in these versions. */
  async function serveVersions(
    served: Readonly<Record<RuleVersion, boolean>>,
    specs: Readonly<Record<RuleVersion, object>> = { v1: ANY, v1alpha2: ANY },
  ): Promise<void> {
    const api = server.config.makeApiClient(ApiextensionsV1Api);
    const name = `${PLURAL}.${CURRENT}`;
    const versions = (['v1', 'v1alpha2'] as const).map((version) => ({
      name: version,
      served: served[version],
      storage: version === 'v1',
      schema: { openAPIV3Schema: { type: 'object', properties: { spec: specs[version] } } },
    }));
    const names = { kind: 'InferenceObjective', singular: 'inferenceobjective', plural: PLURAL };
    const spec = { group: CURRENT, scope: 'Namespaced', names, versions };
    const known = await api.readCustomResourceDefinition({ name }).catch(() => undefined);
    if (known === undefined) {
      await api.createCustomResourceDefinition({ body: { metadata: { name }, spec } });
    } else {
      await api.replaceCustomResourceDefinition({ name, body: Object.assign(known, { spec }) });
    }
  }

  async function createVersioned(version: RuleVersion, name: string, spec: object): Promise<void> {
    const custom = server.config.makeApiClient(CustomObjectsApi);
    const apiVersion = `${CURRENT}/${version}`;
    const body = { apiVersion, kind: 'InferenceObjective', metadata: { name }, spec };
    const at = { group: CURRENT, version, namespace: NAMESPACE, plural: PLURAL };
    await eventually(
      () =>
        custom.createNamespacedCustomObject({ ...at, body }).then(
          () => true,
          () => false,
        ),
      (created) => created,
    );
  }

  const priorities = (): readonly number[] =>
    ['older', 'newer', 'former'].map((name) => rules.priorityOf(name));
  const become = (...wanted: readonly number[]): Promise<readonly number[]> =>
    eventually(priorities, (found) => found.join() === wanted.join());

  it('[D94] [D539] are those of both versions, and not those of the former group, which it says', async () => {
    await become(1, 2, 0);
    // Each kind for itself, as in the reference.
    await eventually(
      () => rules.rewriteOf('any', 'id')?.model,
      (model) => model === 'chat-v1',
    );
    expect(ignored).toEqual([
      'inferenceobjectives of inference.networking.x-k8s.io are ignored, because llm-d.ai has that kind: create them there, or delete that definition',
    ]);
  });

  it('[D532] are those of the version that is left, and not those of the former group', async () => {
    await serveVersions({ v1: true, v1alpha2: false });
    await become(0, 2, 0);
    // The kind is looked for again twice a second here.
    await new Promise((resolve) => hastyClock().setTimer(59_000, () => resolve(undefined)));
    expect(priorities()).toEqual([0, 2, 0]);
    await serveVersions({ v1: true, v1alpha2: true });
    await become(1, 2, 0);
  });

  it('[D532] are those of the former group once the current one has none', async () => {
    const api = server.config.makeApiClient(ApiextensionsV1Api);
    await api.deleteCustomResourceDefinition({ name: `${PLURAL}.${CURRENT}` });
    await become(0, 0, 3);
    // The rules may come before the last list of the current group has failed and is forgotten.
    await eventually(
      () => follower.troubles,
      (left) => left.length === 0,
    );
  });

  it('[D549] are no trouble in the version whose fields they lack, unless they name a pool in neither', async () => {
    const fields = {
      v1: objective({ poolRefs: { type: 'array', items: POOL_REF } }),
      v1alpha2: objective({ poolRef: POOL_REF }),
    };
    await serveVersions({ v1: true, v1alpha2: true }, fields);
    reported.length = 0;
    const later = new RequestRules(seededRandom(1));
    const other = follow(later);
    try {
      await createVersioned('v1', 'newer', { poolRefs: [{ name: 'pool' }], priority: 2 });
      await eventually(
        () => later.priorityOf('newer'),
        (found) => found === 2,
      );
      await createVersioned('v1alpha2', 'lost', { poolRef: { name: 'pool' }, priority: 3 });
      await eventually(
        () => reported.length,
        (count) => count > 0,
      );
      expect(reported).toEqual([expect.stringMatching(/^InferenceObjective lost is not followed/)]);
    } finally {
      other.stop();
    }
  });
});
