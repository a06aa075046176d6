import {
  CoreV1Api,
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { INFERENCE_GROUP } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import { startKubernetes } from '../../src/endpoints/discovery/kubernetes/start-kubernetes.ts';
import { RequestRules } from '../../src/endpoints/rewrites/request-rules.ts';
import { EndpointPool } from '../../src/picker/pool/endpoint-pool.ts';
import { nodeClock } from '../../src/runtime/clock/node-clock.ts';
import { createLog } from '../../src/runtime/log/log.ts';
import { seededRandom } from '../../src/runtime/seeded-random.ts';
import { installCrd } from '../support/kubernetes/install-crd.ts';
import { installRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { createRule, where } from '../support/kubernetes/rule-objects.ts';

/** Pools, pods and rules at the bounds of what their definitions allow, on a real kube-apiserver. */

const FORMER = 'inference.networking.x-k8s.io';
const RULES = 'llm-d.ai';
const NAMES = { kind: 'InferencePool', singular: 'inferencepool', plural: 'inferencepools' };
const ANY = { type: 'object', x_kubernetes_preserve_unknown_fields: true };
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
const binaries = kubernetesOrSkip();

describe.skipIf(binaries === undefined)('at the bounds of their definitions', () => {
  let server: ApiServer;
  let core: CoreV1Api;
  let custom: CustomObjectsApi;
  let hand: ClusterHand;
  const stops: (() => void)[] = [];

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    core = server.config.makeApiClient(CoreV1Api);
    custom = server.config.makeApiClient(CustomObjectsApi);
    hand = new ClusterHand(server.config);
    await installCrd(server.config, {
      group: INFERENCE_GROUP,
      version: 'v1',
      names: NAMES,
      spec: ANY,
    });
    await installCrd(server.config, {
      group: FORMER,
      version: 'v1alpha2',
      names: NAMES,
      spec: ANY,
    });
    await installRuleCrds(server.config, RULES);
  });
  afterAll(async () => {
    for (const stop of stops) stop();
    await server?.stop();
  });

  function follow(name: string, group: string = INFERENCE_GROUP) {
    const endpoints = new EndpointPool();
    const rules = new RequestRules(seededRandom(1));
    const protocols: (string | undefined)[] = [];
    const left: string[] = [];
    endpoints.observeEndpoints({ onEndpointRemoved: ({ id }) => void left.push(id) });
    const discovery = startKubernetes({
      config: server.config,
      pool: { namespace: NAMESPACE, name, group, version: group === FORMER ? 'v1alpha2' : 'v1' },
      onAppProtocol: (each) => void protocols.push(each),
      endpoints,
      rules,
      clock: nodeClock(),
      random: seededRandom(1),
      log: createLog('silent'),
    });
    stops.push(() => discovery.stop());
    const addresses = (): string =>
      endpoints
        .snapshot()
        .map(({ address }) => address)
        .sort()
        .join(' ');
    const settled = (wanted: string): Promise<string> =>
      eventually(addresses, (found) => found === wanted);
    return { endpoints, rules, discovery, protocols, left, addresses, settled };
  }

  const ports = (...numbers: readonly number[]): object[] => numbers.map((number) => ({ number }));
  const patchPod = (name: string, body: object): Promise<unknown> =>
    core.patchNamespacedPod({ name, namespace: NAMESPACE, body }, merge);
  const patchStatus = (name: string, status: object): Promise<unknown> =>
    core.patchNamespacedPodStatus({ name, namespace: NAMESPACE, body: { status } }, merge);

  test('a pool of eight ports has eight endpoints a pod, and what else changes in it moves none', async () => {
    const eight = [8000, 8001, 8002, 8003, 8004, 8005, 8006, 8007];
    await hand.createReadyPod('ranks', { labels: { app: 'ranks' }, ip: '127.0.3.1' });
    const selector = { matchLabels: { app: 'ranks' } };
    await hand.createPool({ selector, targetPorts: ports(...eight) }, 'ranks');
    const { settled, protocols, left, endpoints } = follow('ranks');
    await settled(eight.map((port) => `127.0.3.1:${port}`).join(' '));
    for (const appProtocol of ['http', 'kubernetes.io/h2c', null]) {
      const endpointPickerRef = { name: `epp-${appProtocol}`, port: { number: 9002 } };
      await hand.patchPool({ appProtocol, endpointPickerRef }, 'ranks');
      await eventually(
        () => protocols.at(-1),
        (found) => found === (appProtocol ?? undefined),
      );
    }
    expect([left, protocols]).toEqual([[], ['http', 'kubernetes.io/h2c', undefined]]);
    await hand.patchPool({ targetPorts: ports(8007, 8000) }, 'ranks');
    await settled('127.0.3.1:8000 127.0.3.1:8007');
    expect(
      endpoints
        .snapshot()
        .map(({ id, address }) => `${id} ${address}`)
        .sort(),
    ).toEqual(['default/ranks-rank-0 127.0.3.1:8007', 'default/ranks-rank-1 127.0.3.1:8000']);
  });

  test('pods come and go by address, condition and label', async () => {
    const selector = { matchLabels: { app: 'odd' } };
    await hand.createPool({ selector, targetPorts: ports(8000) }, 'odd');
    const { settled, addresses } = follow('odd');
    const labels = { app: 'odd' };
    await hand.createPod('no-address', { labels, ip: '' });
    await patchStatus('no-address', {
      phase: 'Running',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    await hand.createReadyPod('two', { labels, ip: '127.0.4.2' });
    await settled('127.0.4.2:8000');
    await patchStatus('two', {
      podIP: 'fd00::2',
      podIPs: [{ ip: 'fd00::2' }, { ip: '127.0.4.2' }],
    });
    await settled('[fd00::2]:8000');
    await patchStatus('no-address', { podIP: '127.0.4.1', podIPs: [{ ip: '127.0.4.1' }] });
    await settled('127.0.4.1:8000 [fd00::2]:8000');
    // A readiness gate that is not met: all containers are ready, and the pod is not.
    const gate = 'example.com/warm';
    await patchStatus('two', {
      conditions: [
        { type: 'ContainersReady', status: 'True' },
        { type: gate, status: 'False' },
        { type: 'Ready', status: 'False' },
      ],
    });
    await settled('127.0.4.1:8000');
    await patchStatus('two', { conditions: [{ type: 'Ready', status: 'Unknown' }] });
    await patchPod('no-address', { metadata: { labels: { app: 'other' } } });
    await settled('');
    await patchPod('no-address', { metadata: { labels: { app: 'odd' } } });
    await settled('127.0.4.1:8000');
    await hand.setReady('two', true);
    await settled('127.0.4.1:8000 [fd00::2]:8000');
    await patchStatus('two', { phase: 'Failed' });
    await settled('127.0.4.1:8000');
    expect(addresses()).toBe('127.0.4.1:8000');
  });

  test('a pool goes from no pod to three hundred, and back', async () => {
    const selector = { matchLabels: { app: 'many' } };
    await hand.createPool({ selector, targetPorts: ports(8000) }, 'many');
    const { endpoints, settled } = follow('many');
    const names = Array.from({ length: 300 }, (_, at) => `many-${at}`);
    const each = async (act: (name: string, at: number) => Promise<void>): Promise<void> => {
      for (let from = 0; from < names.length; from += 20) {
        await Promise.all(names.slice(from, from + 20).map((name, at) => act(name, from + at)));
      }
    };
    await each((name, at) =>
      hand.createReadyPod(name, {
        labels: { app: 'many' },
        ip: `127.1.${at >> 8}.${at & 255 || 1}`,
      }),
    );
    await eventually(
      () => endpoints.snapshot().length,
      (found) => found === 300,
    );
    await each((name) => hand.deletePod(name));
    await settled('');
  });

  test('a pool of the former group without a selector says what to correct, and is followed then', async () => {
    const at = {
      group: FORMER,
      version: 'v1alpha2',
      namespace: NAMESPACE,
      plural: 'inferencepools',
    };
    const body = {
      apiVersion: `${FORMER}/v1alpha2`,
      kind: 'InferencePool',
      metadata: { name: 'former' },
      spec: { targetPortNumber: 8000 },
    };
    await hand.createReadyPod('former', { labels: { app: 'former' }, ip: '127.0.5.1' });
    await custom.createNamespacedCustomObject({ ...at, body });
    const { discovery, settled } = follow('former', FORMER);
    await eventually(
      () => discovery.troubles.join(),
      (found) => found === 'the pool selects no pods: give spec.selector a label',
    );
    const spec = { selector: { app: 'former' } };
    await custom.patchNamespacedCustomObject({ ...at, name: 'former', body: { spec } }, merge);
    await settled('127.0.5.1:8000');
    expect(discovery.troubles).toEqual([]);
    await custom.patchNamespacedCustomObject(
      { ...at, name: 'former', body: { spec: { targetPortNumber: 65_535 } } },
      merge,
    );
    await settled('127.0.5.1:65535');
  });

  test('objectives have every priority that the server stores, a thousand of them, and no other namespace’s', async () => {
    await hand.createPool({ selector: { matchLabels: { app: 'none' } }, targetPorts: ports(8000) });
    const { rules, discovery } = follow('pool');
    const priority = (name: string, wanted: number): Promise<number> =>
      eventually(
        () => rules.priorityOf(name),
        (found) => found === wanted,
      );
    const create = (name: string, spec: object): Promise<void> =>
      createRule(server.config, RULES, 'inferenceobjectives', name, spec);
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
    await core.createNamespace({ body: { metadata: { name: 'other' } } });
    await custom.createNamespacedCustomObject({
      ...at,
      namespace: 'other',
      body: {
        apiVersion: `${RULES}/v1alpha2`,
        kind: 'InferenceObjective',
        metadata: { name: 'n-999' },
        spec: { poolRef: { name: 'pool' }, priority: 7 },
      },
    });
    await custom.deleteNamespacedCustomObject(at);
    await create('n-999', { priority: -4 });
    await priority('n-999', -4);
    await custom.deleteNamespacedCustomObject(at);
    await priority('n-999', 0);
    expect(rules.priorityOf('elsewhere')).toBe(0);
    expect(discovery.troubles).toEqual([]);
  });

  test('rewrites are one step, have weights of any sum, and none of 0', async () => {
    const { rules, discovery } = follow('pool');
    const exactly = (value: string): object[] => [{ model: { type: 'Exact', value } }];
    const create = (name: string, each: object[]): Promise<void> =>
      createRule(server.config, RULES, 'inferencemodelrewrites', name, { rules: each });
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
    await custom.deleteNamespacedCustomObject({
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
