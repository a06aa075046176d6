import {
  CoreV1Api,
  CustomObjectsApi,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INFERENCE_GROUP } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  PICKER_ACCOUNT,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import type { KubernetesDiscovery } from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { RequestRules } from '../../src/endpoints/rewrites/request-rules.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { createLog } from '../../src/runtime/log/log.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { followPool } from '../support/kubernetes/follow-pool.ts';
import { installCrd } from '../support/kubernetes/install-crd.ts';

/** Pods by a label selector on a real kube-apiserver that has no InferencePool at all. */

const binaries = kubernetesOrSkip();
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
const ACTIVE = 'llm-d.ai/active-ports';

describe.skipIf(binaries === undefined)(
  'pods without an InferencePool on a real API server',
  () => {
    let server: ApiServer;
    let hand: ClusterHand;
    const endpoints = new EndpointPool();
    const rules = new RequestRules(seededRandom(1));
    let discovery: KubernetesDiscovery;

    beforeAll(async () => {
      if (binaries === undefined) return;
      server = await startApiServer(binaries);
      hand = new ClusterHand(server.config);
      await installObjectives(server);
      discovery = followPool(server.config, {
        pool: { namespace: NAMESPACE, name: 'router-epp', group: INFERENCE_GROUP, version: 'v1' },
        spec: { selector: 'app in (vllm,sglang),!retired', ports: [8000, 8001] },
        endpoints,
        rules,
      });
    });
    afterAll(async () => {
      discovery?.stop();
      await server?.stop();
    });

    const settled = async (wanted: string): Promise<void> => {
      const addresses = (): string =>
        endpoints
          .snapshot()
          .map(({ address }) => address)
          .sort()
          .join(' ');
      await eventually(addresses, (found) => found === wanted);
    };

    test('[D90] are endpoints by the selector and the ports of the flags', async () => {
      await hand.createReadyPod('a', { labels: { app: 'vllm' }, ip: '127.0.1.1' });
      await hand.createReadyPod('b', { labels: { app: 'sglang' }, ip: '127.0.1.2' });
      await hand.createReadyPod('c', { labels: { app: 'other' }, ip: '127.0.1.3' });
      await hand.createReadyPod('d', { labels: { app: 'vllm', retired: 'yes' }, ip: '127.0.1.4' });
      await settled('127.0.1.1:8000 127.0.1.1:8001 127.0.1.2:8000 127.0.1.2:8001');
      expect(discovery.synced).toBe(true);
      expect(discovery.troubles).toEqual([]);
    });

    test('[D93] get no traffic on ports that stop being active, and again when they are', async () => {
      const core = server.config.makeApiClient(CoreV1Api);
      const annotate = async (value: string | null): Promise<void> => {
        const body = { metadata: { annotations: { [ACTIVE]: value } } };
        await core.patchNamespacedPod({ name: 'a', namespace: NAMESPACE, body }, merge);
      };
      await annotate('8001');
      await settled('127.0.1.1:8001 127.0.1.2:8000 127.0.1.2:8001');
      await annotate(null);
      await settled('127.0.1.1:8000 127.0.1.1:8001 127.0.1.2:8000 127.0.1.2:8001');
    });

    test('[D94] have the objectives of version v1 that name their pool', async () => {
      const poolRefs = [{ group: INFERENCE_GROUP, name: 'router-epp' }];
      await server.config.makeApiClient(CustomObjectsApi).createNamespacedCustomObject({
        group: 'llm-d.ai',
        version: 'v1',
        namespace: NAMESPACE,
        plural: 'inferenceobjectives',
        body: {
          apiVersion: 'llm-d.ai/v1',
          kind: 'InferenceObjective',
          metadata: { name: 'interactive' },
          spec: {
            poolRefs,
            priority: 7,
          },
        },
      });
      await eventually(
        () => rules.priorityOf('interactive'),
        (priority) => priority === 7,
      );
    });

    test('[D498] need no right to read rules, which the reference’s chart does not give then', async () => {
      await allowPods(server);
      const pods = new EndpointPool();
      const lines: string[] = [];
      const log = {
        ...createLog('silent'),
        info: (...all: unknown[]) => void lines.push(JSON.stringify(all)),
      };
      const alone = followPool(server.pickerConfig, {
        pool: { namespace: NAMESPACE, name: 'router-epp', group: INFERENCE_GROUP, version: 'v1' },
        spec: { selector: 'app=sglang', ports: [8000] },
        endpoints: pods,
        rules: new RequestRules(seededRandom(1)),
        log: log as ReturnType<typeof createLog>,
      });
      try {
        await eventually(
          () => alone.rulesSynced && pods.snapshot().length === 1,
          (known) => known,
        );
        expect(alone.troubles).toEqual([]);
        const named = lines.filter((line) => line.includes('not allowed to list inferenceobj'));
        expect(named).toHaveLength(1);
      } finally {
        alone.stop();
      }
    });
  },
);

/**
 * Gives the picker what the reference's chart allows one that has no InferencePool. Resolves when
 * the API server applies it.
 */
async function allowPods({ config, pickerConfig }: ApiServer): Promise<void> {
  const rbac = config.makeApiClient(RbacAuthorizationV1Api);
  const namespace = NAMESPACE;
  const rules = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'watch', 'list'] }];
  await rbac.createNamespacedRole({ namespace, body: { metadata: { name: 'pods' }, rules } });
  const subjects = [{ kind: 'ServiceAccount', name: PICKER_ACCOUNT, namespace }];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'pods' };
  const body = { metadata: { name: 'pods' }, subjects, roleRef };
  await rbac.createNamespacedRoleBinding({ namespace, body });
  const pods = pickerConfig.makeApiClient(CoreV1Api);
  const list = (): Promise<boolean> =>
    pods.listNamespacedPod({ namespace }).then(
      () => true,
      () => false,
    );
  await eventually(list, (allowed) => allowed);
}

/** In version v1 only. */
async function installObjectives({ config }: ApiServer): Promise<void> {
  const poolRef = {
    type: 'object',
    properties: { group: { type: 'string' }, name: { type: 'string' } },
  };
  await installCrd(config, {
    group: 'llm-d.ai',
    version: 'v1',
    names: {
      kind: 'InferenceObjective',
      singular: 'inferenceobjective',
      plural: 'inferenceobjectives',
    },
    spec: {
      type: 'object',
      properties: {
        poolRefs: { type: 'array', items: poolRef },
        priority: { type: 'integer' },
      },
    },
  });
}
