import { join } from 'node:path';
import { CoreV1Api, type KubeConfig, RbacAuthorizationV1Api } from '@kubernetes/client-node';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { INFERENCE_GROUP } from '../../bench/support/inference-pools.ts';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { NAMESPACE } from '../../bench/support/kubernetes-objects.ts';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { kubeconfigAccess } from '../../src/commands/api-access/kubeconfig-access.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import { manifestToolsOrSkip } from '../support/kubernetes/manifest-tools.ts';
import {
  configOfAccount,
  permissionsOf,
  rolesOf,
  setAllowed,
} from '../support/kubernetes/own-role.ts';
import { applyAll } from '../support/kubernetes/server-side-apply.ts';

/** `--metrics-endpoint-auth` against a real API server, with the roles of deploy/. */

const binaries = kubernetesOrSkip();
const tools = manifestToolsOrSkip();
const overlay = join(import.meta.dirname, '../fixtures/kustomize/metrics-auth');
const APPLIED = ['ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];
const READER = 'prometheus';
const STRANGER = 'stranger';

describe.skipIf(binaries === undefined || tools === undefined)(
  'metrics for whom the API server allows',
  () => {
    let server: ApiServer;
    let account: KubeConfig;
    let readers: Readonly<Record<string, string>>;
    const manifests = tools === undefined ? Promise.resolve([]) : tools.overlay(overlay);

    beforeAll(async () => {
      if (binaries === undefined) return;
      server = await startApiServer(binaries);
      const kept = (await manifests).filter(({ kind }) => APPLIED.includes(kind));
      expect(await applyAll(server.config, kept, { dryRun: false })).toEqual([]);
      account = await configOfAccount(server.config, 'pointsman');
      readers = {
        reader: await tokenOf(server.config, READER),
        stranger: await tokenOf(server.config, STRANGER),
      };
      await server.config.makeApiClient(RbacAuthorizationV1Api).createClusterRoleBinding({
        body: {
          metadata: { name: 'prometheus-reads' },
          roleRef: {
            apiGroup: 'rbac.authorization.k8s.io',
            kind: 'ClusterRole',
            name: 'pointsman-metrics-reader',
          },
          subjects: [{ kind: 'ServiceAccount', name: READER, namespace: NAMESPACE }],
        },
      });
    });
    afterAll(() => server?.stop());

    it('[V23] answers the bound service account, and says to others what is missing', async () => {
      const picker = await startPicker(account);
      try {
        await eventually(
          () => picker.status(readers['reader']),
          (status) => status === 200,
        );
        expect(await picker.status()).toBe(401);
        expect(await picker.status('invented')).toBe(401);
        expect(await picker.status(readers['stranger'])).toBe(403);
        expect(await picker.said(readers['stranger'])).toBe(
          'system:serviceaccount:default:stranger may not get /metrics: bind it a ClusterRole with nonResourceURLs ["/metrics"] and verbs ["get"]',
        );
        expect(await picker.path('/healthz')).toBe(200);
      } finally {
        await picker.serving.stop({ notice: false });
      }
    });

    it.each(['tokenreviews', 'subjectaccessreviews'])(
      '[V23] answers no caller and says what to fix without create on %s',
      async (resource) => {
        const needed = permissionsOf(rolesOf(await manifests)).find(
          (permission) => permission.resource === resource,
        );
        if (needed === undefined) throw new Error(`no role has ${resource}`);
        await setAllowed(server.config, 'pointsman', needed, false);
        const picker = await startPicker(account);
        try {
          expect(await picker.status(readers['reader'])).toBe(503);
          const remedy = `not allowed to create ${resource}.${needed.group}: give the picker’s service account a ClusterRole with create on it`;
          expect(await picker.said(readers['reader'])).toContain(remedy);
          expect(picker.warnings.join('')).toContain(remedy);
        } finally {
          await setAllowed(server.config, 'pointsman', needed, true);
          await picker.serving.stop({ notice: false });
        }
      },
    );

    it('[V23] goes on answering those it knows while the API server is away', async () => {
      const picker = await startPicker(account);
      try {
        await eventually(
          () => picker.status(readers['reader']),
          (status) => status === 200,
        );
        await server.kill();
        expect(await picker.status(readers['reader'])).toBe(200);
        expect(await picker.status('invented')).toBe(503);
      } finally {
        await picker.serving.stop({ notice: false });
        await server.restart();
      }
    });
  },
);

async function tokenOf(admin: KubeConfig, name: string): Promise<string> {
  const core = admin.makeApiClient(CoreV1Api);
  await core.createNamespacedServiceAccount({ namespace: NAMESPACE, body: { metadata: { name } } });
  const config = await configOfAccount(admin, name);
  return config.getCurrentUser()?.token ?? '';
}

interface Picker {
  readonly serving: Serving;
  readonly warnings: readonly string[];
  /** The status of `/metrics` with this token. */
  status(token?: string): Promise<number>;
  /** The error in the answer. */
  said(token?: string): Promise<string>;
  path(path: string): Promise<number>;
}

async function startPicker(config: KubeConfig): Promise<Picker> {
  const warnings: string[] = [];
  const pool = { namespace: NAMESPACE, name: 'my-pool', group: INFERENCE_GROUP, version: 'v1' };
  const serving = await startServe(
    serveOptions({
      kubernetes: { access: kubeconfigAccess(config), pool },
      metricsEndpointAuth: true,
      log: pino({ level: 'warn' }, { write: (line: string) => void warnings.push(line) }),
    }),
  );
  const get = (path: string, token?: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${serving.metricsPort}${path}`, {
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });
  return {
    serving,
    warnings,
    status: async (token) => {
      const response = await get('/metrics', token);
      await response.text();
      return response.status;
    },
    said: async (token) => {
      const { error } = (await (await get('/metrics', token)).json()) as { readonly error: string };
      return error;
    },
    path: async (path) => {
      const response = await get(path);
      await response.text();
      return response.status;
    },
  };
}
