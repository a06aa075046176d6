import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  CoordinationV1Api,
  CoreV1Api,
  CustomObjectsApi,
  PatchStrategy,
  setHeaderOptions,
  type V1Lease,
} from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { INFERENCE_GROUP, installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { envoyBinary, eventually, startEnvoyFor } from '../../bench/support/stack.ts';
import { stubOptions } from '../../stub-server/options/stub-options.ts';
import { type StubPool, startStubPool } from '../../stub-server/pool.ts';
import { health } from '../support/grpc/grpc-health.ts';
import { startProgram } from '../support/programs/started-program.ts';

/** Two pickers in processes that can be killed, with a real API server and behind a real Envoy. */

const binaries = kubernetesOrSkip();
const envoy = await envoyBinary();
const NAMESPACE = 'serving';
const LEASE = `epp-${NAMESPACE}-pool.llm-d.ai`;
/** A lease of 15 s, three turns of a candidate, and a slow machine. */
const TAKE_OVER_ATTEMPTS = 40 * 60;

describe.skipIf(binaries === undefined || envoy === undefined)('two pickers of one pool', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-election-'));
  const kubeconfig = join(folder, 'kubeconfig');
  let server: ApiServer;
  let stubs: StubPool;
  const stops: (() => Promise<void>)[] = [];

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    writeFileSync(kubeconfig, server.config.exportConfig());
    stubs = await startStubPool(stubOptions.parse({ count: 1, port: 0, speed: 10, model: 'm' }));
    await installInferencePools(server);
    await createPool(server, stubs.endpoints[0]?.address ?? '');
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
    // Those of the next test would wait for the end of a killed leader's lease.
    await deleteLease(server).catch(() => undefined);
  });
  afterAll(async () => {
    await stubs?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  async function startTwo(...flags: readonly string[]): Promise<readonly [Picker, Picker]> {
    const start = async (): Promise<Picker> => {
      const picker = await startPicker(['--kubeconfig', kubeconfig, ...flags]);
      stops.push(() => picker.kill('SIGKILL'));
      return picker;
    };
    return [await start(), await start()];
  }

  /** An Envoy that asks those pickers whose health is good, and its URL. */
  async function envoyOver([a, b]: readonly [Picker, Picker]): Promise<string> {
    const edit = (config: Document): void => checkedPickers(config, b.extProcPort);
    const running = await startEnvoyFor(
      envoy ?? '',
      { envoy: 'envoy', endpoints: [], edit },
      a.extProcPort,
    );
    stops.push(running.stop);
    return running.url;
  }

  it('elect one, which alone is ready and asked; it is killed, and the other takes over', async () => {
    const both = await startTwo('--ha-enable-leader-election');
    const leader = await leaderOf(both);
    const standby = both[0] === leader ? both[1] : both[0];
    const readyOf = async (picker: Picker): Promise<readonly string[]> =>
      Promise.all(
        ['', 'readiness', 'liveness'].map((service) => health(picker.extProcPort, service)),
      );
    expect(await readyOf(leader)).toEqual(['SERVING', 'SERVING', 'SERVING']);
    expect(await readyOf(standby)).toEqual(['NOT_SERVING', 'NOT_SERVING', 'SERVING']);
    const held = await lease(server);
    expect(held.spec?.leaseDurationSeconds).toBe(15);
    // It comes to know the pool without leading, and can serve at once.
    const { detail } = await eventually(
      () => ready(standby),
      (answer) => answer.detail.endpoints === 1,
    );
    expect(detail).toMatchObject({ leading: false, leader: held.spec?.holderIdentity });

    const url = await envoyOver(both);
    await eventually(
      () => complete(url),
      (status) => status === 200,
    );
    const statuses = await Promise.all(Array.from({ length: 20 }, () => complete(url)));
    expect(statuses).toEqual(Array(20).fill(200));
    expect(await requests(standby)).toBe(0);

    await leader.kill('SIGKILL');
    await eventually(async () => (await ready(standby)).ok, Boolean, TAKE_OVER_ATTEMPTS);
    expect((await lease(server)).spec).toMatchObject({ leaseTransitions: 1 });
    await eventually(
      () => complete(url),
      (status) => status === 200,
    );
    const after = await Promise.all(Array.from({ length: 20 }, () => complete(url)));
    expect(after).toEqual(Array(20).fill(200));
    expect(await requests(standby)).toBeGreaterThanOrEqual(20);
    const page = await get(standby, '/metrics');
    expect(page).toContain(`leader_election_master_status{name="${LEASE}"} 1`);
  });

  it('hand the lease over without waiting for its end when the leader gets a signal to end', async () => {
    const both = await startTwo('--ha-enable-leader-election');
    const leader = await leaderOf(both);
    const standby = both[0] === leader ? both[1] : both[0];
    const holder = async (): Promise<string> => (await lease(server)).spec?.holderIdentity ?? '';
    const before = await holder();
    // So that only the leader itself can change the lease.
    standby.pause();
    await leader.kill('SIGTERM');
    expect(await holder()).toBe('');
    standby.resume();
    await eventually(async () => (await ready(standby)).ok, Boolean, TAKE_OVER_ATTEMPTS);
    expect(['', before]).not.toContain(await holder());
  });

  it('are both ready and both asked without an election; one is killed, and the other goes on', async () => {
    const both = await startTwo();
    for (const picker of both) await eventually(async () => (await ready(picker)).ok, Boolean);
    const url = await envoyOver(both);
    await eventually(
      async () => {
        await complete(url);
        return Promise.all(both.map(requests));
      },
      (counts) => counts.every((count) => count > 0),
    );
    await both[0].kill('SIGKILL');
    const row = (): Promise<readonly number[]> =>
      Promise.all(Array.from({ length: 20 }, () => complete(url)));
    // On a busy machine a health check of the living one may come too late, for a moment.
    await eventually(row, (statuses) => statuses.every((status) => status === 200));
  });

  it('[D312] are not kept from leading by an observer with their arguments, which follows the pool beside them', async () => {
    const flags = ['--kubeconfig', kubeconfig, '--ha-enable-leader-election', '--observe'];
    const observer = await startPicker(flags);
    stops.push(() => observer.kill('SIGKILL'));
    const known = async (): Promise<Ready> => ready(observer);
    const { detail } = await eventually(known, ({ ok }) => ok, TAKE_OVER_ATTEMPTS);
    expect(detail).toMatchObject({ endpoints: 1 });
    expect(detail).not.toHaveProperty('leading');
    await expect(lease(server)).rejects.toThrow('404');
    const leader = await leaderOf(await startTwo('--ha-enable-leader-election'));
    expect((await ready(leader)).detail).toMatchObject({ leading: true });
    expect((await known()).ok).toBe(true);
  });
});

interface Ports {
  readonly extProcPort: number;
  readonly metricsPort: number;
}

interface Picker extends Ports {
  /** Stops it until it resumes. */
  pause(): void;
  resume(): void;
  kill(signal: NodeJS.Signals): Promise<void>;
}

async function startPicker(flags: readonly string[]): Promise<Picker> {
  const pool = ['--pool-name', 'pool', '--pool-namespace', NAMESPACE];
  const ports = ['--host=127.0.0.1', '--extproc-port=0', '--metrics-port=0', '--drain-notice-ms=0'];
  const args = ['--insecure', '--log-level', 'error', ...pool, ...ports, ...flags];
  const { document, child, end } = await startProgram<Ports>(['serve', ...args]);
  return {
    ...document,
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
    kill: end,
  };
}

async function leaderOf(pickers: readonly [Picker, Picker]): Promise<Picker> {
  const readyAre = await eventually(
    () => Promise.all(pickers.map(async (picker) => (await ready(picker)).ok)),
    (all) => all.includes(true),
    TAKE_OVER_ATTEMPTS,
  );
  expect(readyAre.filter(Boolean)).toHaveLength(1);
  return pickers[readyAre[0] === true ? 0 : 1];
}

interface Ready {
  readonly ok: boolean;
  readonly detail: { readonly endpoints?: number };
}

async function ready(picker: Picker): Promise<Ready> {
  return JSON.parse(await get(picker, '/readyz')) as Ready;
}

async function requests(picker: Picker): Promise<number> {
  const counts = (await get(picker, '/metrics')).matchAll(
    /^llm_d_epp_request_total\{.*\} (\d+)$/gm,
  );
  return [...counts].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function get({ metricsPort }: Picker, path: string): Promise<string> {
  return (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).text();
}

async function complete(url: string): Promise<number> {
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', prompt: 'who leads?', max_tokens: 2 }),
  });
  await response.text();
  return response.status;
}

function lease({ config }: ApiServer): Promise<V1Lease> {
  const api = config.makeApiClient(CoordinationV1Api);
  return api.readNamespacedLease({ namespace: NAMESPACE, name: LEASE });
}

async function deleteLease({ config }: ApiServer): Promise<void> {
  const api = config.makeApiClient(CoordinationV1Api);
  await api.deleteNamespacedLease({ namespace: NAMESPACE, name: LEASE });
}

/** A pool of one pod, which is the stub at `address`. */
async function createPool({ config }: ApiServer, address: string): Promise<void> {
  const [ip = '', port] = address.split(':');
  const namespace = NAMESPACE;
  const core = config.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: namespace } } });
  const spec = {
    selector: { matchLabels: { app: 'stub' } },
    targetPorts: [{ number: Number(port) }],
  };
  await config.makeApiClient(CustomObjectsApi).createNamespacedCustomObject({
    group: INFERENCE_GROUP,
    version: 'v1',
    namespace,
    plural: 'inferencepools',
    body: {
      apiVersion: `${INFERENCE_GROUP}/v1`,
      kind: 'InferencePool',
      metadata: { name: 'pool' },
      spec,
    },
  });
  const metadata = { name: 'stub', labels: { app: 'stub' } };
  const containers = [{ name: 'engine', image: 'engine' }];
  await core.createNamespacedPod({ namespace, body: { metadata, spec: { containers } } });
  const conditions = [{ type: 'Ready', status: 'True' }];
  const status = { phase: 'Running', conditions, podIP: ip, podIPs: [{ ip }] };
  await core.patchNamespacedPodStatus(
    { name: 'stub', namespace, body: { status } },
    setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
  );
}

/** A second picker in Envoy's cluster, and health by the name that the reference's probes use. */
function checkedPickers(config: Document, port: number): void {
  const cluster = ['static_resources', 'clusters', 1];
  const address = { socket_address: { address: '127.0.0.1', port_value: port } };
  config.addIn(
    [...cluster, 'load_assignment', 'endpoints', 0, 'lb_endpoints'],
    config.createNode({ endpoint: { address } }),
  );
  const check = {
    // The connection of a killed picker breaks at once; a busy machine may answer late.
    timeout: '20s',
    interval: '0.1s',
    no_traffic_interval: '0.1s',
    unhealthy_threshold: 1,
    healthy_threshold: 1,
    grpc_health_check: { service_name: 'readiness' },
  };
  config.setIn([...cluster, 'health_checks'], config.createNode([check]));
}
