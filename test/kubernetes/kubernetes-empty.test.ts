import { CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import type { KubernetesDiscovery } from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { followPool } from '../support/kubernetes/follow-pool.ts';

const binaries = kubernetesOrSkip();
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);

describe.skipIf(binaries === undefined)('a pool without ready pods on a real API server', () => {
  let server: ApiServer;
  let discovery: KubernetesDiscovery;
  const endpoints = new EndpointPool();
  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    await installInferencePools(server);
    discovery = followPool(server.config, { endpoints });
  });
  afterAll(async () => {
    discovery?.stop();
    await server?.stop();
  });

  it('[O291] says why it has no endpoint, by the pods and what their containers wait for', async () => {
    const hand = new ClusterHand(server.config);
    const core = server.config.makeApiClient(CoreV1Api);
    const said = (wanted: RegExp): Promise<string | undefined> =>
      eventually(
        () => endpoints.whyEmpty,
        (found) => wanted.test(found ?? ''),
      );
    await hand.createPool({
      selector: { matchLabels: { app: 'vllm' } },
      targetPorts: [{ number: 8000 }],
    });
    await said(/^no pod in namespace \S+ has the labels app=vllm/);
    for (const name of ['a', 'b']) await hand.createPod(name, { labels: { app: 'vllm' }, ip: '' });
    await said(/^none of 2 pods with the labels app=vllm can serve: 2 starting$/);
    await hand.setReady('b', false, '127.0.1.2');
    const state = { waiting: { reason: 'CrashLoopBackOff' } };
    const engine = { name: 'engine', image: 'engine', imageID: '', restartCount: 3, ready: false };
    const body = { status: { containerStatuses: [{ ...engine, state }] } };
    await core.patchNamespacedPodStatus({ name: 'a', namespace: NAMESPACE, body }, merge);
    const both = await said(/CrashLoop.*probe/);
    expect(both).toBe(
      'none of 2 pods with the labels app=vllm can serve: 1 CrashLoopBackOff, 1 not ready by the readiness probe',
    );
    await hand.setReady('b', true);
    await eventually(
      () => endpoints.snapshot().length,
      (count) => count === 1,
    );
  });
});
