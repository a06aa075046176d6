import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CoreV1Api,
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP, installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import { followPool, type PoolServers } from '../../src/commands/sidecar/pool-servers.ts';
import { FORMER } from '../support/kubernetes/bounds-bed.ts';
import { installCrd } from '../support/kubernetes/install-crd.ts';

/** The servers that requests may name, from an InferencePool of a real kube-apiserver. */

const binaries = kubernetesOrSkip();
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

describe.skipIf(binaries === undefined)('a sidecar that follows an InferencePool', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-sidecar-pool-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const labels = { app: 'vllm' };
  let server: ApiServer;
  let hand: ClusterHand;
  let core: CoreV1Api;
  let pool: PoolServers;
  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    await installInferencePools(server);
    hand = new ClusterHand(server.config);
    core = server.config.makeApiClient(CoreV1Api);
    writeFileSync(kubeconfig, server.config.exportConfig());
    pool = await followPool('default/pool', { group: INFERENCE_GROUP, kubeconfig });
  });
  afterAll(async () => {
    pool?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  const allows = (address: string, wanted = true): Promise<boolean> =>
    eventually(
      () => pool.allowed(address),
      (allowed) => allowed === wanted,
    );

  it('[B83] allows its pods on its ports, and no other server', async () => {
    await hand.createPool({
      selector: { matchLabels: labels },
      targetPorts: [{ number: 8000 }, { number: 8001 }],
      endpointPickerRef: { name: 'picker', port: { number: 9002 } },
    });
    expect(pool.allowed('10.0.0.7:8000')).toBe(false);
    await hand.createReadyPod('prefill', { labels, ip: '10.0.0.7' });
    await hand.createReadyPod('other', { labels: { app: 'other' }, ip: '10.0.0.8' });
    await allows('10.0.0.7:8000');
    expect(pool.allowed('10.0.0.7:8001')).toBe(true);
    for (const named of ['10.0.0.7:8002', '10.0.0.8:8000', '127.0.0.1:8000', 'prefill:8000']) {
      expect(pool.allowed(named), named).toBe(false);
    }
  });

  it('[D536] allows a pod before it is ready and while it ends, as a picker may name it then', async () => {
    await hand.setReady('prefill', false, '10.0.0.7');
    await hand.createPod('starts', { labels, ip: '10.0.0.9', node: 'n1' });
    await hand.setReady('starts', false, '10.0.0.9');
    // It sees what happened before.
    await allows('10.0.0.9:8000');
    expect(pool.allowed('10.0.0.7:8000')).toBe(true);
    await hand.deletePod('starts', 30);
    await hand.createReadyPod('six', { labels, ip: 'fd00::7' });
    await allows('[fd00::7]:8001');
    expect(pool.allowed('10.0.0.9:8000')).toBe(true);
    await hand.deletePod('starts');
    await allows('10.0.0.9:8000', false);
  });

  it('[D536] allows an address as long as a pod of the pool has it', async () => {
    await hand.setReady('prefill', true, '10.0.0.7');
    await hand.createReadyPod('heir', { labels, ip: '10.0.0.7' });
    await hand.createReadyPod('later', { labels, ip: '10.0.0.10' });
    await allows('10.0.0.10:8000');
    await hand.deletePod('prefill');
    await hand.deletePod('later');
    await allows('10.0.0.10:8000', false);
    expect(pool.allowed('10.0.0.7:8000')).toBe(true);
    await core.patchNamespacedPodStatus(
      { name: 'heir', namespace: 'default', body: { status: { phase: 'Failed' } } },
      merge,
    );
    // Its address may be another pod's by then.
    await allows('10.0.0.7:8000', false);
  });

  it('[D537] knows the pods that there are before it serves', async () => {
    const next = await followPool('default/pool', { group: INFERENCE_GROUP, kubeconfig });
    expect(next.allowed('[fd00::7]:8000')).toBe(true);
    next.stop();
  });

  it('[D495] follows a pool of the former group, too', async () => {
    const { config } = server;
    const pools = { kind: 'InferencePool', singular: 'inferencepool', plural: 'inferencepools' };
    const spec = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
    await installCrd(config, { group: FORMER, version: 'v1alpha2', names: pools, spec });
    await config.makeApiClient(CustomObjectsApi).createNamespacedCustomObject({
      group: FORMER,
      version: 'v1alpha2',
      namespace: 'default',
      plural: 'inferencepools',
      body: {
        apiVersion: `${FORMER}/v1alpha2`,
        kind: 'InferencePool',
        metadata: { name: 'former' },
        spec: { targetPortNumber: 8000, selector: { app: 'former' } },
      },
    });
    await hand.createReadyPod('former', { labels: { app: 'former' }, ip: '10.0.1.7' });
    const former = await followPool('default/former', { group: FORMER, kubeconfig });
    try {
      await eventually(
        () => former.allowed('10.0.1.7:8000'),
        (allowed) => allowed,
      );
      expect(former.allowed('10.0.0.8:8000')).toBe(false);
    } finally {
      former.stop();
    }
  });

  it.each(['a/b/c', ''])('[B83] refuses %j, which names no pool', async (name) => {
    await expect(followPool(name, { group: INFERENCE_GROUP, kubeconfig })).rejects.toThrow(
      'must be namespace/name',
    );
  });
});
