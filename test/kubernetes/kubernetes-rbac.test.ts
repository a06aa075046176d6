import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CoordinationV1Api, type KubeConfig } from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { ClusterHand, NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { podAccess } from '../../src/commands/api-access/pod-access.ts';
import { accessFindings } from '../../src/commands/doctor/doctor-access.ts';
import type { ApiAccess } from '../../src/endpoints/discovery/kubernetes/api/api-access.ts';
import { startServe } from '../../src/serve/serve.ts';
import { health } from '../support/grpc/grpc-health.ts';
import { installManifestCrds } from '../support/kubernetes/manifest-crds.ts';
import { type Manifest, manifestToolsOrSkip } from '../support/kubernetes/manifest-tools.ts';
import {
  configOfAccount,
  type Permission,
  permissionsOf,
  rolesOf,
  setAllowed,
} from '../support/kubernetes/own-role.ts';
import { installRuleCrds } from '../support/kubernetes/rule-crds.ts';
import { applyAll } from '../support/kubernetes/server-side-apply.ts';
import { RunsInTurn } from '../support/programs/runs-in-turn.ts';
import { type MetricServer, startMetricServer } from '../support/servers/metric-servers.ts';

/** The picker with the rights of its service account in deploy/, each of which it needs. */

const binaries = kubernetesOrSkip();
const tools = manifestToolsOrSkip();
const ACCOUNT = 'pointsman';
const POOL = 'my-pool';
/** Used by this file alone, because the port is that of the pool in the manifests. */
const POD_IP = '127.0.6.1';
const TARGET_PORT = 8000;
const LEASE = `epp-${NAMESPACE}-${POOL}.llm-d.ai`;
const CONFIG = join(import.meta.dirname, '../../deploy/disaggregation.yaml');
const CONFORMANCE = join(import.meta.dirname, '../../deploy/conformance.yaml');
const folder = mkdtempSync(join(tmpdir(), 'pointsman-rbac-'));
const manifests =
  tools === undefined
    ? []
    : await tools.overlay(join(import.meta.dirname, '../fixtures/kustomize/all-roles'));
const permissions = permissionsOf(rolesOf(manifests));
const APPLIED = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
const CURRENT = 'llm-d.ai';
const LEGACY = 'inference.networking.x-k8s.io';

describe.skipIf(binaries === undefined || tools === undefined)(
  'the picker under its own role',
  () => {
    let server: ApiServer;
    let config: KubeConfig;
    let pickers: RunsInTurn;
    /** It answers scrapes, so that the picker warns of missing permissions only. */
    let pod: MetricServer;

    beforeAll(async () => {
      if (binaries === undefined) return;
      pickers = new RunsInTurn();
      pod = await startMetricServer({ queue: 0, kv: 0 }, { host: POD_IP, port: TARGET_PORT });
      server = await startApiServer(binaries);
      await installManifestCrds(server.config);
      const kept = manifests.filter(({ kind }) => [...APPLIED, 'InferencePool'].includes(kind));
      expect(await applyAll(server.config, kept, { dryRun: false })).toEqual([]);
      const hand = new ClusterHand(server.config);
      await hand.createNode('n1', { 'topology.kubernetes.io/zone': 'a' });
      const labels = { app: 'vllm', 'llm-d.ai/role': 'decode' };
      await hand.createReadyPod('a', { labels, ip: POD_IP, node: 'n1' });
      config = await configOfAccount(server.config, ACCOUNT);
    });
    afterAll(async () => {
      await pickers?.stop();
      await server?.stop();
      await pod?.stop();
      rmSync(folder, { recursive: true });
    });

    it('[O165] doctor says which right is missing, or that it cannot ask', async () => {
      const kubeconfig = join(folder, 'asks');
      const findings = (): ReturnType<typeof accessFindings> =>
        accessFindings(kubeconfig, { namespace: NAMESPACE, serviceAccount: ACCOUNT });
      writeFileSync(kubeconfig, server.config.exportConfig());
      expect(await findings()).toEqual([]);
      const isWatch = ({ resource, verb }: Permission) => resource === 'pods' && verb === 'watch';
      for (const permission of permissions.filter(isWatch)) {
        await setAllowed(server.config, ACCOUNT, permission, false);
        const [finding, ...others] = await findings();
        await setAllowed(server.config, ACCOUNT, permission, true);
        const what = 'it may not watch pods: it finds no endpoints.';
        expect(finding).toMatchObject({ severity: 'error', id: 'missing-right', what });
        expect(others).toEqual([]);
      }
      writeFileSync(kubeconfig, config.exportConfig());
      expect(await findings()).toEqual([expect.objectContaining({ id: 'rights-unknown' })]);
    });

    // The legacy group first: where the other is installed as well, it is not looked at.
    describe.each([LEGACY, CURRENT])('with rules in %s', (rulesGroup) => {
      beforeAll(async () => {
        if (binaries === undefined || tools === undefined) return;
        await installRuleCrds(server.config, rulesGroup);
        const rewrite = rewriteIn(rulesGroup);
        expect(await applyAll(server.config, [rewrite], { dryRun: false })).toEqual([]);
      });

      it('follows, elects and finds the nodes of endpoints, started with the manifest’s arguments', async () => {
        const kubeconfig = join(folder, 'kubeconfig');
        writeFileSync(kubeconfig, config.exportConfig());
        const args = [...argsOf(manifests), '--kubeconfig', kubeconfig];
        const picker = await startPicker(pickers, args);
        try {
          const readyz = await eventually(() => picker.get('/readyz'), isReady);
          const wanted = { endpoints: 1, leading: true, kubernetesTroubles: [] };
          expect(readyz).toMatchObject({ detail: { ...wanted, kubernetesRulesSynced: true } });
          expect(JSON.stringify(await picker.get('/debug/rules'))).toContain(modelIn(rulesGroup));
          const described = async (): Promise<string> =>
            JSON.stringify(await picker.get('/debug/endpoints'));
          await eventually(described, (page) => page.includes('"topology.kubernetes.io/zone":"a"'));
          expect(picker.warnings()).toEqual([]);
        } finally {
          await picker.stop();
        }
      });

      it('is started by the arguments of the suite’s picker and of the reference, with their image replaced', async () => {
        const kubeconfig = join(folder, 'kubeconfig');
        writeFileSync(kubeconfig, config.exportConfig());
        await forgetLease(server.config);
        const suite = ['--pool-name', POOL, '--pool-namespace', NAMESPACE, '--zap-encoder', 'json'];
        const ports = ['--grpc-port', '0', '--grpc-health-port', '0', '--metrics-port', '0'];
        const more = [
          '--config-file',
          CONFORMANCE,
          '--ha-enable-leader-election',
          '--tracing=false',
        ];
        const args = [
          ...suite,
          ...ports,
          ...more,
          '--zap-log-level=info',
          '--kubeconfig',
          kubeconfig,
        ];
        const picker = await runPicker(pickers, args);
        try {
          const readyz = await eventually(() => picker.get('/readyz'), isReady);
          expect(readyz).toMatchObject({ detail: { endpoints: 1, leading: true } });
          expect(await health(picker.healthPort, 'inference-extension')).toBe('SERVING');
          const { fixed } = JSON.parse(picker.warnings()[0] ?? '{}') as { fixed: object };
          expect(Object.keys(fixed)).toEqual(['--zap-encoder=json']);
        } finally {
          await picker.stop();
        }
      });

      const shown = permissions.filter(({ group }) =>
        group === LEGACY || group === CURRENT ? group === rulesGroup : rulesGroup === LEGACY,
      );
      it.each(shown)(
        'says what to fix without $verb on $resource (group “$group”)',
        async (permission) => {
          await setAllowed(server.config, ACCOUNT, permission, false);
          try {
            const remedy = remedyFor(permission);
            const warnings = await warningsUntil((reason) => reason.startsWith(remedy));
            const sentence = warnings.find((reason) => reason.startsWith(remedy)) ?? '';
            expect(sentence.split(': give the picker’s service account ')[1]).toContain(
              permission.verb,
            );
            expect(warnings.filter((reason) => !reason.startsWith('not allowed to'))).toEqual([]);
          } finally {
            await setAllowed(server.config, ACCOUNT, permission, true);
          }
        },
      );
    });

    /** By the files that a pod of the account gets. */
    function asInPod(): ApiAccess {
      const account = mkdtempSync(join(folder, 'account-'));
      writeFileSync(join(account, 'token'), config.getCurrentUser()?.token ?? '');
      copyFileSync(server.authorityFile, join(account, 'ca.crt'));
      const { hostname, port } = new URL(config.getCurrentCluster()?.server ?? '');
      const environment = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
      return podAccess(environment, account) ?? expect.fail('no pod');
    }

    /** The reasons that a picker logs, from its start until one is the one waited for. */
    async function warningsUntil(right: (reason: string) => boolean): Promise<readonly string[]> {
      await forgetLease(server.config);
      const reasons: string[] = [];
      const write = (line: string): void => {
        const { reason, msg } = JSON.parse(line) as Readonly<Record<'reason' | 'msg', unknown>>;
        reasons.push(String(reason ?? msg));
      };
      const pool = { namespace: NAMESPACE, name: POOL, group: INFERENCE_GROUP, version: 'v1' };
      const serving = await startServe(
        serveOptions(
          {
            kubernetes: { access: asInPod(), pool },
            election: { identity: 'picker' },
            log: pino({ level: 'warn' }, { write }),
            loopDelayMaxMs: 0,
          },
          CONFIG,
        ),
      );
      try {
        return await eventually(
          () => reasons,
          (warnings) => warnings.some(right),
        );
      } finally {
        await serving.stop();
      }
    }
  },
);

/** The beginning of the sentence that is logged where this permission is missing. */
function remedyFor({ group, resource, verb }: Permission): string {
  if (resource === 'leases')
    return `not allowed to ${verb === 'get' ? 'read' : 'write'} lease ${LEASE}`;
  return `not allowed to ${verb} ${group === '' ? resource : `${resource}.${group}`}`;
}

const modelIn = (group: string): string => `chat-of-${group}`;

const rewriteIn = (group: string): Manifest => ({
  apiVersion: `${group}/v1alpha2`,
  kind: 'InferenceModelRewrite',
  metadata: { name: 'canary' },
  spec: { poolRef: { name: POOL }, rules: [{ targets: [{ modelRewrite: modelIn(group) }] }] },
});

const isReady = (readyz: unknown): boolean => (readyz as { readonly ok?: boolean }).ok === true;

/** So that the next picker makes one: what it may not do then shows at once. */
async function forgetLease(admin: KubeConfig): Promise<void> {
  const api = admin.makeApiClient(CoordinationV1Api);
  await api.deleteNamespacedLease({ namespace: NAMESPACE, name: LEASE }).catch(() => undefined);
}

/** The picker's, as its pod gets them. */
function argsOf(rendered: readonly Manifest[]): readonly string[] {
  const found = rendered.find(
    ({ kind, metadata }) => kind === 'Deployment' && metadata.name === ACCOUNT,
  );
  const { spec } = found as unknown as {
    readonly spec: {
      readonly template: {
        readonly spec: { readonly containers: readonly { readonly args: readonly string[] }[] };
      };
    };
  };
  const { args = [] } = spec.template.spec.containers[0] ?? {};
  return args.map((arg) =>
    arg.replace('$(NAMESPACE)', NAMESPACE).replace('/etc/pointsman/config.yaml', CONFIG),
  );
}

interface Picker {
  readonly healthPort: number;
  get(path: string): Promise<unknown>;
  warnings(): readonly string[];
  stop(): Promise<void>;
}

function startPicker(pickers: RunsInTurn, args: readonly string[]): Promise<Picker> {
  const free = ['--host=127.0.0.1', '--extproc-port=0', '--health-port=0', '--metrics-port=0'];
  return runPicker(pickers, [...args, ...free, '--log-level=warn']);
}

/** That the machine is busy is no warning about roles. */
const ANY_MACHINE = ['--loop-delay-max-ms=0'];

async function runPicker(pickers: RunsInTurn, args: readonly string[]): Promise<Picker> {
  const { document, lines, end } = await pickers.serve<{
    readonly metricsPort: number;
    readonly healthPort: number;
  }>([...args, '--drain-notice-ms=0', ...ANY_MACHINE]);
  const { metricsPort, healthPort } = document;
  return {
    healthPort,
    get: async (path) => (await fetch(`http://127.0.0.1:${metricsPort}${path}`)).json(),
    warnings: lines,
    stop: end,
  };
}
