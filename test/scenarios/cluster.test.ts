import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoreV1Api, PatchStrategy, setHeaderOptions } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Document } from 'yaml';
import { installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually, startEnvoyFor } from '../../bench/support/stack.ts';
import { health } from '../support/grpc/grpc-health.ts';
import { anyServer } from './configs.ts';
import { freePort, freePorts, PICKER, type Program, startProgram } from './processes.ts';
import { binary, Scenario, type Server, servers, sumOf } from './scenario.ts';

/** llm-d's scenarios that need an API server, with a real one, behind a real Envoy. */

const binaries = kubernetesOrSkip();
const PROMPT = 'My name is a name of nine letters, and I would like to see every planet once.';
const ACTIVE = 'llm-d.ai/active-ports';
const merge = setHeaderOptions('Content-Type', PatchStrategy.MergePatch);
/** A lease of 15 s, three turns of a candidate, and a slow machine. */
const TAKE_OVER_ATTEMPTS = 40 * 60;

interface Picker {
  readonly program: Program;
  readonly grpcPort: number;
  readonly healthPort: number;
  readonly metricsPort: number;
}

describe.skipIf(binary === undefined || binaries === undefined)('pickers in a cluster', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pointsman-cluster-'));
  const kubeconfig = join(folder, 'kubeconfig');
  const scenario = new Scenario();
  const stops: (() => Promise<void>)[] = [];
  let server: ApiServer;
  let ranks: readonly Server[];

  beforeAll(async () => {
    if (binaries === undefined) return;
    server = await startApiServer(binaries);
    writeFileSync(kubeconfig, server.config.exportConfig());
    await installInferencePools(server);
    const port = await freePorts(2);
    ranks = await scenario.startServers(['decode'], { dataParallelSize: 2, port });
    const hand = new ClusterHand(server.config);
    const labels = { app: 'engine', 'llm-d.ai/role': 'decode' };
    const targetPorts = [{ number: port }, { number: port + 1 }];
    await hand.createPool({ selector: { matchLabels: { app: 'engine' } }, targetPorts });
    await hand.createReadyPod('engine', { labels, ip: '127.0.0.1' });
  });
  afterEach(async () => {
    for (const stop of stops.splice(0).toReversed()) await stop();
  });
  afterAll(async () => {
    await scenario.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  /** Starts a picker by the reference's command line. */
  async function startPicker(...flags: readonly string[]): Promise<Picker> {
    const config = scenario.write('cluster.yaml', {
      apiVersion: 'llm-d.ai/v1alpha1',
      kind: 'EndpointPickerConfig',
      ...anyServer,
    });
    const [grpcPort, healthPort, metricsPort] = await Promise.all([
      freePort(),
      freePort(),
      freePort(),
    ]);
    const args = [
      '--pool-name=pool',
      `--pool-namespace=${NAMESPACE}`,
      `--kubeconfig=${kubeconfig}`,
      `--config-file=${config}`,
      `--grpc-port=${grpcPort}`,
      `--grpc-health-port=${healthPort}`,
      `--metrics-port=${metricsPort}`,
      '--secure-serving=false',
      '--metrics-endpoint-auth=false',
      '--zap-log-level=error',
      ...flags,
    ];
    const program = startProgram(PICKER, args, [
      '--host=127.0.0.1',
      '--json',
      '--drain-notice-ms=0',
    ]);
    stops.push(() => program.kill());
    return { program, grpcPort, healthPort, metricsPort };
  }

  /** Envoy before those pickers whose health is good, as a Service is before ready pods. */
  async function startEnvoy(pickers: readonly Picker[]): Promise<void> {
    const edit = (config: Document): void => checkedPickers(config, pickers);
    const port = pickers[0]?.grpcPort ?? 0;
    const options = { envoy: 'envoy', endpoints: [], serve: { insecure: true }, edit } as const;
    const { url, stop } = await startEnvoyFor(binary ?? '', options, port);
    stops.push(stop);
    scenario.url = url;
  }

  async function leaderOf(pickers: readonly Picker[]): Promise<Picker> {
    const isReady = ({ healthPort }: Picker): Promise<boolean> =>
      health(healthPort, 'readiness').then(
        (status) => status === 'SERVING',
        () => false,
      );
    const ready = await eventually(
      async () => {
        const are = await Promise.all(pickers.map(isReady));
        return pickers.filter((_, index) => are[index]);
      },
      ({ length }) => length > 0,
      TAKE_OVER_ATTEMPTS,
    );
    expect(ready).toHaveLength(1);
    return ready[0] as Picker;
  }

  /** Five requests, all of them served, and what the leader says of the pool. */
  async function serves({ metricsPort }: Picker): Promise<void> {
    await eventually(
      () => scenario.status(),
      (status) => status === 200,
      TAKE_OVER_ATTEMPTS,
    );
    for (let count = 0; count < 5; count++) {
      expect((await scenario.complete(PROMPT)).status).toBe(200);
    }
    const metrics = `http://127.0.0.1:${metricsPort}/metrics`;
    expect(await sumOf(metrics, 'llm_d_epp_ready_endpoints')).toBe(2);
    expect(await sumOf(metrics, 'llm_d_epp_request_total')).toBeGreaterThanOrEqual(5);
  }

  it('[B212] three elect one, which alone is ready; it ends, and another one serves', async () => {
    const flag = '--ha-enable-leader-election';
    const pickers = await Promise.all([startPicker(flag), startPicker(flag), startPicker(flag)]);
    const leader = await leaderOf(pickers);
    await startEnvoy(pickers);
    await serves(leader);
    const others = pickers.filter((picker) => picker !== leader);
    const { child } = leader.program;
    child.kill('SIGTERM');
    await once(child, 'exit');
    await serves(await leaderOf(others));
  });

  it('[B213] a rank whose port is not active gets no request, and gets some once it is', async () => {
    const [first, second] = ranks as readonly [Server, Server];
    const core = server.config.makeApiClient(CoreV1Api);
    const activate = async (...active: readonly Server[]): Promise<void> => {
      const value = active.map(({ address }) => address.split(':')[1]).join(',');
      const body = { metadata: { annotations: { [ACTIVE]: value } } };
      await core.patchNamespacedPod({ name: 'engine', namespace: NAMESPACE, body }, merge);
    };
    await activate(first);
    const picker = await startPicker();
    await startEnvoy([picker]);
    await eventually(
      () => scenario.status(),
      (status) => status === 200,
      TAKE_OVER_ATTEMPTS,
    );
    const metrics = `http://127.0.0.1:${picker.metricsPort}/metrics`;
    const served = (): Promise<readonly Server[]> =>
      servers(ranks, () => scenario.complete(PROMPT));
    for (const active of [[first], [second]]) {
      await activate(...active);
      await eventually(async () => (await served())[0] === active[0], Boolean);
      expect(await sumOf(metrics, 'llm_d_epp_ready_endpoints')).toBe(1);
      for (let count = 0; count < 10; count++) expect(await served()).toEqual(active);
    }
    await activate(first, second);
    const seen = new Set<Server>();
    await eventually(
      async () => {
        for (const each of await served()) seen.add(each);
        return seen.size;
      },
      (size) => size === 2,
    );
  });
});

/**
 * All pickers in Envoy's cluster, and their health by the port and name of the reference's probes.
 */
function checkedPickers(config: Document, pickers: readonly Picker[]): void {
  const cluster = ['static_resources', 'clusters', 1];
  const endpoints = pickers.map(({ grpcPort, healthPort }) => ({
    endpoint: {
      address: { socket_address: { address: '127.0.0.1', port_value: grpcPort } },
      health_check_config: { port_value: healthPort },
    },
  }));
  const path = [...cluster, 'load_assignment', 'endpoints', 0, 'lb_endpoints'];
  config.setIn(path, config.createNode(endpoints));
  const check = {
    timeout: '20s',
    interval: '0.1s',
    no_traffic_interval: '0.1s',
    unhealthy_threshold: 1,
    healthy_threshold: 1,
    grpc_health_check: { service_name: 'readiness' },
  };
  config.setIn([...cluster, 'health_checks'], config.createNode([check]));
}
