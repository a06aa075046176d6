import {
  CoreV1Api,
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
  type V1Pod,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { EndpointPool } from '../src/datalayer/endpoint-pool.ts';
import { type KubernetesDiscovery, startKubernetes } from '../src/kubernetes/start-kubernetes.ts';
import { createLog } from '../src/observability/log.ts';
import { nodeClock } from '../src/runtime/node-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { INFERENCE_GROUP as GROUP, installInferencePools } from './support/inference-pools.ts';
import { type ApiServer, kubernetesOrSkip, startApiServer } from './support/kubernetes.ts';
import { eventually } from './support/stack.ts';

/** Informers against a real kube-apiserver; pods are made and their status is patched, as kubelets would. */

const binaries = kubernetesOrSkip();
const NAMESPACE = 'default';
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

describe.skipIf(binaries === undefined)('an InferencePool on a real API server', () => {
  let server: ApiServer;
  let core: CoreV1Api;
  let custom: CustomObjectsApi;
  let endpoints: EndpointPool;
  let discovery: KubernetesDiscovery;

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    core = server.config.makeApiClient(CoreV1Api);
    custom = server.config.makeApiClient(CustomObjectsApi);
    await installInferencePools(server);
    endpoints = new EndpointPool();
    discovery = startKubernetes({
      config: server.config,
      pool: { namespace: NAMESPACE, name: 'pool', group: GROUP, version: 'v1' },
      endpoints,
      clock: nodeClock(),
      random: seededRandom(1),
      log: createLog('silent'),
    });
  });
  afterAll(async () => {
    discovery?.stop();
    await server?.stop();
  });

  const addresses = (): string =>
    endpoints
      .snapshot()
      .map(({ address }) => address)
      .sort()
      .join(' ');
  const settled = (wanted: string): Promise<string> =>
    eventually(addresses, (found) => found === wanted);

  async function createPool(
    labels: Record<string, string>,
    ports: readonly number[],
  ): Promise<void> {
    const body = {
      apiVersion: `${GROUP}/v1`,
      kind: 'InferencePool',
      metadata: { name: 'pool' },
      spec: { selector: { matchLabels: labels }, targetPorts: ports.map((number) => ({ number })) },
    };
    const where = { group: GROUP, version: 'v1', namespace: NAMESPACE, plural: 'inferencepools' };
    await custom.createNamespacedCustomObject({ ...where, body });
  }

  async function patchPool(spec: object): Promise<void> {
    const where = { group: GROUP, version: 'v1', namespace: NAMESPACE, plural: 'inferencepools' };
    await custom.patchNamespacedCustomObject({ ...where, name: 'pool', body: { spec } }, merge);
  }

  async function createPod(name: string, ip: string, app = 'vllm'): Promise<void> {
    const body: V1Pod = {
      metadata: { name, labels: { app } },
      spec: { containers: [{ name: 'engine', image: 'engine' }] },
    };
    await core.createNamespacedPod({ namespace: NAMESPACE, body });
    await setReady(name, true, ip);
  }

  async function setReady(name: string, ready: boolean, ip?: string): Promise<void> {
    const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
    const status = { phase: 'Running', conditions, ...(ip && { podIP: ip, podIPs: [{ ip }] }) };
    await core.patchNamespacedPodStatus({ name, namespace: NAMESPACE, body: { status } }, merge);
  }

  it('that is not there yet has no endpoints, and is followed once it comes', async () => {
    await eventually(
      () => discovery.synced,
      (synced) => synced,
    );
    expect(addresses()).toBe('');
    await createPod('a', '127.0.1.1');
    await createPod('b', '127.0.1.2');
    await createPod('stranger', '127.0.1.9', 'other');
    await createPool({ app: 'vllm' }, [8000]);
    await settled('127.0.1.1:8000 127.0.1.2:8000');
  });

  it('loses a pod that is not ready, and has it again when it is', async () => {
    await setReady('a', false);
    await settled('127.0.1.2:8000');
    await setReady('a', true);
    await settled('127.0.1.1:8000 127.0.1.2:8000');
  });

  it('loses a pod the moment its deletion begins, though it goes on for a while', async () => {
    await createPod('c', '127.0.1.3');
    await settled('127.0.1.1:8000 127.0.1.2:8000 127.0.1.3:8000');
    const { status: before } = await core.readNamespacedPod({ name: 'c', namespace: NAMESPACE });
    await core.deleteNamespacedPod({ name: 'c', namespace: NAMESPACE, gracePeriodSeconds: 30 });
    await settled('127.0.1.1:8000 127.0.1.2:8000');
    expect(before?.podIP).toBe('127.0.1.3');
  });

  it('follows its ports and its selector', async () => {
    await patchPool({ targetPorts: [{ number: 9000 }, { number: 9001 }] });
    await settled('127.0.1.1:9000 127.0.1.1:9001 127.0.1.2:9000 127.0.1.2:9001');
    await patchPool({
      targetPorts: [{ number: 8000 }],
      selector: { matchLabels: { app: 'other' } },
    });
    await settled('127.0.1.9:8000');
    await patchPool({ selector: { matchLabels: { app: 'vllm' } } });
    await settled('127.0.1.1:8000 127.0.1.2:8000');
  });

  it('serves its last state while the API server is away, and sees after it what it missed', async () => {
    await server.kill();
    await new Promise((resolve) => setTimeout(resolve, 1000));
    expect(addresses()).toBe('127.0.1.1:8000 127.0.1.2:8000');
    await eventually(
      () => discovery.ageMs ?? 0,
      (age) => age > 500,
    );
    await server.restart();
    await core.deleteNamespacedPod({ name: 'b', namespace: NAMESPACE, gracePeriodSeconds: 0 });
    await createPod('d', '127.0.1.4');
    await settled('127.0.1.1:8000 127.0.1.4:8000');
  });

  it('has no endpoints once it is deleted, and its own again when it is made anew', async () => {
    const where = { group: GROUP, version: 'v1', namespace: NAMESPACE, plural: 'inferencepools' };
    await custom.deleteNamespacedCustomObject({ ...where, name: 'pool' });
    await settled('');
    await createPool({ app: 'vllm' }, [8000]);
    await settled('127.0.1.1:8000 127.0.1.4:8000');
  });
});
