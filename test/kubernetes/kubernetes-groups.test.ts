import {
  type KubeConfig,
  RbacAuthorizationV1Api,
  type V1PolicyRule,
} from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP, installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  configFor,
  kubernetesOrSkip,
  PICKER_ACCOUNT,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import type { KubernetesDiscovery } from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { followPool } from '../support/kubernetes/follow-pool.ts';

/** Groups of pods, nodes and faults, against a real kube-apiserver that asks who may do what. */

const binaries = kubernetesOrSkip();
const LWS = 'leaderworkerset.sigs.k8s.io';
const ZONE = 'topology.kubernetes.io/zone';
const PORT = [{ number: 8000 }];

describe.skipIf(binaries === undefined)('a picker on a real API server', () => {
  let server: ApiServer;
  let hand: ClusterHand;
  let endpoints: EndpointPool;
  let discovery: KubernetesDiscovery | undefined;

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    hand = new ClusterHand(server.config);
  });
  afterEach(() => discovery?.stop());
  afterAll(() => server?.stop());

  function follow(config: KubeConfig, nodeLabels: readonly string[] = []): KubernetesDiscovery {
    endpoints = new EndpointPool();
    discovery = followPool(config, { nodeLabels, endpoints });
    return discovery;
  }

  const ids = (): string =>
    endpoints
      .snapshot()
      .map(({ id }) => id)
      .sort()
      .join(' ');
  const settled = (wanted: string): Promise<string> => eventually(ids, (found) => found === wanted);
  const troubleWith = (remedy: string): Promise<readonly string[]> =>
    eventually(
      () => discovery?.troubles ?? [],
      (troubles) => troubles.some((sentence) => sentence.includes(remedy)),
    );
  const untroubled = (): Promise<readonly string[]> =>
    eventually(
      () => discovery?.troubles ?? [],
      (troubles) => troubles.length === 0,
    );

  async function allow(clusterWide: boolean, rules: V1PolicyRule[]): Promise<void> {
    const rbac = server.config.makeApiClient(RbacAuthorizationV1Api);
    const name = clusterWide ? 'nodes' : 'pool';
    const apiGroup = 'rbac.authorization.k8s.io';
    const subjects = [{ kind: 'ServiceAccount', name: PICKER_ACCOUNT, namespace: NAMESPACE }];
    if (clusterWide) {
      await rbac.createClusterRole({ body: { metadata: { name }, rules } });
      const roleRef = { apiGroup, kind: 'ClusterRole', name };
      await rbac.createClusterRoleBinding({ body: { metadata: { name }, roleRef, subjects } });
      return;
    }
    const namespace = NAMESPACE;
    await rbac.createNamespacedRole({ namespace, body: { metadata: { name }, rules } });
    const roleRef = { apiGroup, kind: 'Role', name };
    const body = { metadata: { name }, roleRef, subjects };
    await rbac.createNamespacedRoleBinding({ namespace, body });
  }

  it('says to install the CRD where there is none, and then that the pool is missing', async () => {
    follow(server.config);
    await troubleWith('install the Gateway API inference extension’s CRDs');
    expect(endpoints.snapshot()).toEqual([]);
    await installInferencePools(server, 'anything');
    await eventually(
      () => discovery?.synced,
      (synced) => synced === true,
    );
    await eventually(
      () => discovery?.troubles ?? [],
      ([first = '', ...others]) =>
        first.includes('there is no InferencePool') && others.length === 0,
    );
  });

  it('says what is wrong with a pool, and follows it once it is right', async () => {
    await hand.createReadyPod('single', { labels: { app: 'vllm' }, ip: '127.0.2.1' });
    follow(server.config);
    await hand.createPool({ selector: { matchLabels: { app: 'vllm' } }, targetPorts: [null, 7] });
    await troubleWith('spec.targetPorts[0].number is missing: make it a port from 1 to 65535');
    await hand.patchPool({ targetPorts: PORT });
    await settled('default/single-rank-0');
    expect(discovery?.troubles).toEqual([]);
    await hand.patchPool({ selector: null });
    await troubleWith('give spec.selector.matchLabels a label');
    expect(ids()).toBe('default/single-rank-0');
    await hand.patchPool({ selector: { matchLabels: { app: 'vllm' } } });
    await untroubled();
    await hand.deletePod('single');
    await settled('');
  });

  it('says which role is missing, and goes on by itself once it is bound', async () => {
    await hand.createReadyPod('single', { labels: { app: 'vllm' }, ip: '127.0.2.1', node: 'n1' });
    await hand.createNode('n1', { [ZONE]: 'a', 'node.example/other': 'x' });
    follow(server.pickerConfig, [ZONE]);
    await troubleWith(`not allowed to list inferencepools.${INFERENCE_GROUP} in namespace default`);
    await troubleWith('not allowed to list nodes');
    const verbs = ['list', 'watch'];
    await allow(false, [
      { apiGroups: [''], resources: ['pods'], verbs },
      { apiGroups: [INFERENCE_GROUP], resources: ['inferencepools'], verbs },
    ]);
    // Nodes are worth having and no condition: endpoints are there without them.
    await settled('default/single-rank-0');
    expect(endpoints.snapshot()[0]?.labels.has(ZONE)).toBe(false);
    await allow(true, [{ apiGroups: [''], resources: ['nodes'], verbs }]);
    const zone = (): string | undefined => endpoints.snapshot()[0]?.labels.get(ZONE);
    await eventually(zone, (found) => found === 'a');
    expect(endpoints.snapshot()[0]?.labels.has('node.example/other')).toBe(false);
    await hand.labelNode('n1', { [ZONE]: 'b' });
    await eventually(zone, (found) => found === 'b');
    await untroubled();
    await hand.deletePod('single');
    await settled('');
  });

  it('has a group as one endpoint while it is whole, also where the pool selects leaders alone', async () => {
    follow(server.pickerConfig);
    await untroubled();
    await createGroup('r1');
    await settled('default/lws-0-rank-0');
    await hand.setReady('lws-0-2', false);
    await settled('');
    await hand.setReady('lws-0-2', true);
    await settled('default/lws-0-rank-0');
    // The update begins: the leader goes with its group, and comes again before the others are new.
    await hand.deletePod('lws-0');
    await settled('');
    await createMember(0, 'r2');
    await createReady('after-the-leader');
    expect(ids()).toBe('default/after-the-leader-rank-0');
    await hand.deletePod('after-the-leader');
    for (const index of [1, 2]) {
      await hand.deletePod(`lws-0-${index}`);
      await createMember(index, 'r2');
    }
    await settled('default/lws-0-rank-0');
  });

  it('says that the API server cannot be reached, and where', async () => {
    follow(configFor('https://127.0.0.1:1'));
    const [sentence] = await troubleWith('cannot reach the API server https://127.0.0.1:1');
    expect(sentence).toContain('check that it runs');
    expect(discovery?.synced).toBe(false);
    expect(discovery?.ageMs).toBeUndefined();
  });

  it('says that its credentials are not taken', async () => {
    const url = server.config.getCurrentCluster()?.server ?? '';
    follow(configFor(url, 'not a token'));
    await troubleWith('does not accept the picker’s credentials');
  });

  /** A change that the watch reports after all earlier ones. */
  async function createReady(name: string): Promise<void> {
    await hand.createReadyPod(name, { labels: { app: 'vllm' }, ip: '127.0.2.9' });
    await eventually(ids, (found) => found.includes(name));
  }

  async function createGroup(revision: string): Promise<void> {
    for (const index of [0, 1, 2]) await createMember(index, revision);
  }

  async function createMember(index: number, revision: string): Promise<void> {
    await hand.createReadyPod(index === 0 ? 'lws-0' : `lws-0-${index}`, {
      labels: {
        // The pool takes the leader; its workers are seen by the labels of the set.
        ...(index === 0 && { app: 'vllm' }),
        [`${LWS}/name`]: 'lws',
        [`${LWS}/group-index`]: '0',
        [`${LWS}/group-key`]: 'key',
        [`${LWS}/worker-index`]: String(index),
        [`${LWS}/template-revision-hash`]: revision,
      },
      annotations: { [`${LWS}/size`]: '3' },
      ip: `127.0.3.${index + 1}`,
    });
  }
});
