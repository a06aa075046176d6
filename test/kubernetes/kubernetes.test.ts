import { CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP, installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import {
  type KubernetesDiscovery,
  startKubernetes,
} from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { createLog } from '../../src/runtime/log/log.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';

/** Informers against a real kube-apiserver. The test patches the status of pods, as kubelets do. */

const binaries = kubernetesOrSkip();

describe.skipIf(binaries === undefined)('an InferencePool on a real API server', () => {
  let server: ApiServer;
  let core: CoreV1Api;
  let hand: ClusterHand;
  let endpoints: EndpointPool;
  let discovery: KubernetesDiscovery;

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    core = server.config.makeApiClient(CoreV1Api);
    hand = new ClusterHand(server.config);
    await installInferencePools(server);
    endpoints = new EndpointPool();
    discovery = startKubernetes({
      config: server.config,
      pool: { namespace: NAMESPACE, name: 'pool', group: INFERENCE_GROUP, version: 'v1' },
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

  const createPool = (labels: Record<string, string>, ports: readonly number[]): Promise<void> =>
    hand.createPool({
      selector: { matchLabels: labels },
      targetPorts: ports.map((number) => ({ number })),
    });
  const createPod = (name: string, ip: string, app = 'vllm'): Promise<void> =>
    hand.createReadyPod(name, { labels: { app }, ip });

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
    await hand.setReady('a', false);
    await settled('127.0.1.2:8000');
    await hand.setReady('a', true);
    await settled('127.0.1.1:8000 127.0.1.2:8000');
  });

  it('loses a pod the moment its deletion begins, though it goes on for a while', async () => {
    // A pod on no node has nothing to finish, and would go at once.
    await hand.createReadyPod('c', { labels: { app: 'vllm' }, ip: '127.0.1.3', node: 'node' });
    await settled('127.0.1.1:8000 127.0.1.2:8000 127.0.1.3:8000');
    await hand.deletePod('c', 30);
    await settled('127.0.1.1:8000 127.0.1.2:8000');
    const { metadata } = await core.readNamespacedPod({ name: 'c', namespace: NAMESPACE });
    expect(metadata?.deletionTimestamp).toBeDefined();
  });

  it('follows its ports and its selector', async () => {
    await hand.patchPool({ targetPorts: [{ number: 9000 }, { number: 9001 }] });
    await settled('127.0.1.1:9000 127.0.1.1:9001 127.0.1.2:9000 127.0.1.2:9001');
    await hand.patchPool({
      targetPorts: [{ number: 8000 }],
      selector: { matchLabels: { app: 'other' } },
    });
    await settled('127.0.1.9:8000');
    await hand.patchPool({ selector: { matchLabels: { app: 'vllm' } } });
    await settled('127.0.1.1:8000 127.0.1.2:8000');
  });

  it('serves its last state while the API server is away, and sees after it what it missed', async () => {
    await server.kill();
    await eventually(
      () => discovery.ageMs ?? 0,
      (age) => age > 1000,
    );
    expect(addresses()).toBe('127.0.1.1:8000 127.0.1.2:8000');
    await server.restart();
    await hand.deletePod('b');
    await createPod('d', '127.0.1.4');
    await settled('127.0.1.1:8000 127.0.1.4:8000');
  });

  it('has no endpoints once it is deleted, and its own again when it is recreated', async () => {
    await hand.deletePool();
    await settled('');
    await createPool({ app: 'vllm' }, [8000]);
    await settled('127.0.1.1:8000 127.0.1.4:8000');
  });
});
