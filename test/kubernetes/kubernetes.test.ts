import {
  CoreV1Api,
  type KubeConfig,
  PatchStrategy,
  RbacAuthorizationV1Api,
  setHeaderOptions,
} from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
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
import { createLog, type Log } from '../../src/runtime/log/log.ts';
import { followPool } from '../support/kubernetes/follow-pool.ts';
import { type CuttableProxy, startCuttableProxy } from '../support/servers/cuttable-proxy.ts';

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
    discovery = follow(server.config, endpoints);
  });
  afterAll(async () => {
    discovery?.stop();
    await server?.stop();
  });

  const addresses = (of: EndpointPool = endpoints): string =>
    of
      .snapshot()
      .map(({ address }) => address)
      .sort()
      .join(' ');
  const settled = (wanted: string, of: EndpointPool = endpoints): Promise<string> =>
    eventually(
      () => addresses(of),
      (found) => found === wanted,
    );

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

  it('[V395] follows pods that share an address, exchange theirs or have one of IPv6', async () => {
    await createPod('e', '127.0.1.4');
    await settled('127.0.1.1:8000 127.0.1.4:8000 127.0.1.4:8000');
    await hand.setReady('d', true, '127.0.1.5');
    await settled('127.0.1.1:8000 127.0.1.4:8000 127.0.1.5:8000');
    await hand.setReady('e', true, 'fd00::5');
    await settled('127.0.1.1:8000 127.0.1.5:8000 [fd00::5]:8000');
    await hand.deletePod('e');
    await settled('127.0.1.1:8000 127.0.1.5:8000');
  });

  it('[V396] reads pods of the largest size that the server stores', async () => {
    const names = Array.from({ length: 7 }, (_, at) => `large-${at}`);
    for (const name of names) {
      const container = { name: 'engine', image: 'engine', args: ['x'.repeat(1_400_000)] };
      const metadata = { name, labels: { app: 'vllm' } };
      const body = { metadata, spec: { containers: [container] } };
      await core.createNamespacedPod({ namespace: NAMESPACE, body });
      await hand.setReady(name, true, `127.0.2.${names.indexOf(name) + 1}`);
    }
    const wanted = `127.0.1.1:8000 127.0.1.5:8000 ${names
      .map((_, at) => `127.0.2.${at + 1}:8000`)
      .sort()
      .join(' ')}`;
    await settled(wanted);
    const fresh = new EndpointPool();
    const other = follow(server.config, fresh);
    await settled(wanted, fresh);
    // A trouble of the outage before goes once a watch has lasted for some seconds.
    await eventually(
      () => JSON.stringify([other.troubles, discovery.troubles]),
      (troubles) => troubles === '[[],[]]',
    );
    other.stop();
    for (const name of names) await hand.deletePod(name);
    await settled('127.0.1.1:8000 127.0.1.5:8000');
  });

  describe('[V397] keeps its endpoints, says once why, and sees after it what it missed,', () => {
    let proxy: CuttableProxy;
    let config: KubeConfig;
    let watched: KubernetesDiscovery;
    const own = new EndpointPool();
    const lines: string[] = [];

    beforeAll(async () => {
      if (binaries === undefined) return;
      proxy = await startCuttableProxy(Number(new URL(serverOf(server.config)).port));
      await setRights(server.config, true);
      config = configFor(`https://127.0.0.1:${proxy.port}`, tokenOf(server.pickerConfig));
      const write = (line: string): void => void lines.push(line);
      watched = follow(config, own, pino({ level: 'info' }, { write }));
      await settled('127.0.1.1:8000 127.0.1.5:8000', own);
    });
    afterAll(async () => {
      watched?.stop();
      await proxy?.stop();
    });

    const outage = async (
      away: () => Promise<void>,
      why: string,
      back: () => Promise<void>,
    ): Promise<void> => {
      lines.length = 0;
      await away();
      proxy.cut();
      await eventually(
        () => watched.troubles.join(),
        (troubles) => troubles.includes(why),
      );
      expect(addresses(own)).toBe('127.0.1.1:8000 127.0.1.5:8000');
      await hand.setReady('d', false);
      await settled('127.0.1.1:8000');
      expect(addresses(own)).toBe('127.0.1.1:8000 127.0.1.5:8000');
      await back();
      await settled('127.0.1.1:8000', own);
      // The pool and its pods may be in trouble for two reasons.
      const reasons = lines
        .filter((line) => line.includes(why))
        .map((line) => (JSON.parse(line) as { readonly reason: string }).reason);
      expect(reasons.length).toBeGreaterThan(0);
      expect(new Set(reasons).size).toBe(reasons.length);
      await hand.setReady('d', true);
      await settled('127.0.1.1:8000 127.0.1.5:8000', own);
    };
    const bearer = (token: string): void => {
      const user = config.getCurrentUser();
      if (user !== null) Object.assign(user, { token });
    };

    it('while it has no rights', async () => {
      const away = (): Promise<void> => setRights(server.config, false);
      await outage(away, 'not allowed to', () => setRights(server.config, true));
    });

    it('while its token is refused', async () => {
      await outage(
        () => Promise.resolve(bearer('expired')),
        'does not accept the picker’s credentials',
        () => Promise.resolve(bearer(tokenOf(server.pickerConfig))),
      );
    });

    it('and has no trouble after them', async () => {
      await eventually(
        () => watched.troubles,
        (troubles) => troubles.length === 0,
      );
      expect(watched.ageMs).toBe(0);
      expect(lines.at(-1)).toContain('Kubernetes works again');
    });
  });
});

function follow(
  config: KubeConfig,
  endpoints: EndpointPool,
  log: Log = createLog('silent'),
): KubernetesDiscovery {
  return followPool(config, { endpoints, log });
}

const serverOf = (config: KubeConfig): string => config.getCurrentCluster()?.server ?? '';
const tokenOf = (config: KubeConfig): string => config.getCurrentUser()?.token ?? '';

const READER = 'reader';

/** Gives the picker's account the right to list and watch, or takes it away. */
async function setRights(admin: KubeConfig, allowed: boolean): Promise<void> {
  const rbac = admin.makeApiClient(RbacAuthorizationV1Api);
  const rules = [{ apiGroups: ['', INFERENCE_GROUP], resources: ['*'], verbs: ['list', 'watch'] }];
  const where = { namespace: NAMESPACE, name: READER };
  const metadata = { name: READER };
  const body = { metadata, rules: allowed ? rules : [] };
  const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
  const exists = await rbac.readNamespacedRole(where).catch(() => undefined);
  if (exists !== undefined) {
    await rbac.patchNamespacedRole({ ...where, body: { rules: body.rules } }, merge);
    return;
  }
  await rbac.createNamespacedRole({ namespace: NAMESPACE, body });
  const name = `system:serviceaccount:${NAMESPACE}:${PICKER_ACCOUNT}`;
  const apiGroup = 'rbac.authorization.k8s.io';
  const binding = {
    metadata,
    roleRef: { apiGroup, kind: 'Role', name: READER },
    subjects: [{ apiGroup, kind: 'User', name }],
  };
  await rbac.createNamespacedRoleBinding({ namespace: NAMESPACE, body: binding });
}
