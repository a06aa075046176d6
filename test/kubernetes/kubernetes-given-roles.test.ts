import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RbacAuthorizationV1Api, type V1PolicyRule } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { installInferencePools } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  PICKER_ACCOUNT,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually } from '../../bench/support/stack.ts';
import { health } from '../support/grpc/grpc-health.ts';
import { installRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { applyAll } from '../support/kubernetes/server-side-apply.ts';
import { RunsInTurn, type ServingRun } from '../support/programs/runs-in-turn.ts';
import { givenCases } from './chart-cases.ts';
import { CURRENT, LEGACY, modelIn, OWN } from './given.ts';

/**
 * What charts, operators and tasks of gateways give the reference's picker: arguments, a role, and
 * the names that its probes ask for. Ours gets the same, where more kinds are installed than any of
 * these roles allows to read.
 */

const binaries = kubernetesOrSkip();
const folder = mkdtempSync(join(tmpdir(), 'pointsman-given-'));
const CONFIG = join(folder, 'plugins.yaml');
const KUBECONFIG = join(folder, 'kubeconfig');
const PLUGINS = `
apiVersion: inference.networking.x-k8s.io/v1alpha1
kind: EndpointPickerConfig
plugins: [{ type: queue-scorer }, { type: prefix-cache-scorer }]
schedulingProfiles:
- name: default
  plugins: [{ pluginRef: queue-scorer, weight: 2 }, { pluginRef: prefix-cache-scorer, weight: 3 }]
`;

describe.skipIf(binaries === undefined)('on a real API server, with the given arguments', () => {
  let server: ApiServer;
  let rbac: RbacAuthorizationV1Api;
  let pickers: RunsInTurn;

  beforeAll(async () => {
    if (binaries === undefined) return;
    pickers = new RunsInTurn();
    server = await startApiServer(binaries);
    await installInferencePools(server);
    for (const group of [LEGACY, CURRENT]) {
      await installRuleCrds(server.config, group);
      const rules = [{ targets: [{ modelRewrite: modelIn(group) }] }];
      const rewrite = {
        apiVersion: `${group}/v1alpha2`,
        kind: 'InferenceModelRewrite',
        metadata: { name: 'canary' },
        spec: { poolRef: { name: 'release' }, rules },
      };
      expect(await applyAll(server.config, [rewrite], { dryRun: false })).toEqual([]);
    }
    const hand = new ClusterHand(server.config);
    await hand.createPool(
      { selector: { matchLabels: { app: 'vllm' } }, targetPorts: [{ number: 8000 }] },
      'release',
    );
    await hand.createReadyPod('a', { labels: { app: 'vllm' }, ip: '127.0.6.9' });
    rbac = server.config.makeApiClient(RbacAuthorizationV1Api);
    writeFileSync(CONFIG, PLUGINS);
    writeFileSync(KUBECONFIG, server.pickerConfig.exportConfig());
  });
  afterEach(async () => {
    if (rbac === undefined) return;
    const given = { namespace: NAMESPACE, name: 'given' };
    await rbac.deleteNamespacedRoleBinding(given);
    await rbac.deleteNamespacedRole(given);
  });
  afterAll(async () => {
    await pickers?.stop();
    await server?.stop();
    rmSync(folder, { recursive: true });
  });

  async function allow(rules: readonly V1PolicyRule[]): Promise<void> {
    const [namespace, metadata] = [NAMESPACE, { name: 'given' }];
    await rbac.createNamespacedRole({ namespace, body: { metadata, rules: [...rules] } });
    const subjects = [{ kind: 'ServiceAccount', name: PICKER_ACCOUNT, namespace }];
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'given' };
    const body = { metadata, subjects, roleRef };
    await rbac.createNamespacedRoleBinding({ namespace, body });
  }

  type Ports = Readonly<Record<'healthPort' | 'metricsPort', number>>;

  function start(args: readonly string[]): Promise<ServingRun<Ports>> {
    // The last value of a flag that is given twice counts.
    const own = ['--grpc-port=0', '--grpc-health-port=0', '--metrics-port=0', '--drain-timeout=0s'];
    const environment = { NAMESPACE, POD_NAME: 'release-epp-5c9d8f7b6-x7k2p' };
    return pickers.serve([...args, ...own, '--kubeconfig', KUBECONFIG], environment);
  }

  test.each(givenCases(CONFIG, PLUGINS))(
    '[D556] [D557] %s: its probes find ours ready',
    async (_what, given) => {
      await allow(given.rules);
      const picker = await start(given.args);
      try {
        const { healthPort, metricsPort } = picker.document;
        const page = async (path: string): Promise<unknown> =>
          (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).json();
        const asked = (): Promise<readonly string[]> =>
          Promise.all(given.probes.map((service) => health(healthPort, service)));
        await eventually(asked, (answers) => answers.every((answer) => answer === 'SERVING'));
        const endpoints = async (): Promise<string> => JSON.stringify(await page('/readyz'));
        await eventually(endpoints, (text) => text.includes('"endpoints":1'));
        const rules = async (): Promise<string> => JSON.stringify(await page('/debug/rules'));
        await eventually(rules, (text) =>
          [LEGACY, CURRENT].every(
            (group) => text.includes(modelIn(group)) === (group === given.counts),
          ),
        );
      } finally {
        await picker.end();
      }
    },
  );

  test('[D556] a role that allows nothing leaves it not ready, and the log says what is missing', async () => {
    await allow([]);
    const pool = ['--pool-name', 'release', '--pool-namespace', NAMESPACE];
    const picker = await start([...pool, '--config-file', CONFIG]);
    try {
      const forbidden = (): boolean =>
        picker.lines().some((line) => line.includes('not allowed to'));
      await eventually(forbidden, (found) => found);
      expect(await health(picker.document.healthPort, OWN)).toBe('NOT_SERVING');
    } finally {
      await picker.end();
    }
  });
});
