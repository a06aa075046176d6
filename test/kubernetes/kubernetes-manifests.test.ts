import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CoreV1Api } from '@kubernetes/client-node';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ApiServer,
  kubernetesOrSkip,
  startApiServer,
} from '../../bench/support/kubernetes.ts';
import { installManifestCrds } from '../support/kubernetes/manifest-crds.ts';
import {
  type Manifest,
  type ManifestTools,
  manifestToolsOrSkip,
} from '../support/kubernetes/manifest-tools.ts';
import { applyAll } from '../support/kubernetes/server-side-apply.ts';

/** All Kubernetes manifests of deploy/, rendered and applied to a kube-apiserver as a dry run. */

const binaries = kubernetesOrSkip();
const found = manifestToolsOrSkip();
const deploy = join(import.meta.dirname, '../../deploy');
const overlaysFolder = join(deploy, 'kubernetes/overlays');
const overlays = readdirSync(overlaysFolder);
const chartFolder = join(deploy, 'helm/pointsman');
const allRoles = join(import.meta.dirname, '../fixtures/kustomize/all-roles');
const metricsAuth = join(import.meta.dirname, '../fixtures/kustomize/metrics-auth');
const prefixed = join(import.meta.dirname, '../fixtures/kustomize/prefixed');
const RESTRICTED = 'restricted';

const CHART_FLAGS: readonly (readonly [string, readonly string[]])[] = [
  ['nothing set', []],
  ['an Envoy beside the picker', ['--set', 'mode=standalone']],
  [
    'everything on',
    [
      '--set=leaderElection=true,nodeLabels=true,serviceMonitor.enabled=true,dashboard.enabled=true',
      '--set=podDisruptionBudget.maxUnavailable=50%,image.tag=v1,podAnnotations.a=b,nodeSelector.disk=ssd',
      '--set=tls.secret=certificate,tls.clientCa=true,adminTokenSecret=admin,metricsAuth=true',
      '--set=sharing.nats=nats://nats:4222,sharing.keySecret=key,scaler.enabled=true',
      '--set=extraEnv[0].name=OTEL_EXPORTER_OTLP_ENDPOINT,extraEnv[0].value=http://collector:4317',
      '--set=extraVolumes[0].name=plugins,extraVolumes[0].configMap.name=plugins',
      '--set=extraVolumeMounts[0].name=plugins,extraVolumeMounts[0].mountPath=/plugins',
      '--set=networkPolicy.egress[0].ports[0].port=4222',
      '--set=extraArgs={--log-level=debug},imagePullSecrets[0].name=pull,tolerations[0].operator=Exists',
      `--set-file=config=${join(deploy, 'disaggregation.yaml')}`,
    ],
  ],
  [
    'everything off',
    ['--set=pool.create=false,networkPolicy.enabled=false,podDisruptionBudget.enabled=false'],
  ],
];

describe.skipIf(binaries === undefined || found === undefined)(
  'deploy/ on a real API server',
  () => {
    let server: ApiServer;
    let tools: ManifestTools;

    beforeAll(async () => {
      if (binaries === undefined || found === undefined) return;
      tools = found;
      server = await startApiServer(binaries);
      await installManifestCrds(server.config);
      const labels = { 'pod-security.kubernetes.io/enforce': RESTRICTED };
      const core = server.config.makeApiClient(CoreV1Api);
      await core.createNamespace({ body: { metadata: { name: RESTRICTED, labels } } });
    });
    afterAll(() => server?.stop());

    const refused = (manifests: readonly Manifest[]): Promise<readonly string[]> =>
      applyAll(server.config, manifests, { dryRun: true });
    const overlay = (name: string): Promise<readonly Manifest[]> =>
      tools.overlay(join(overlaysFolder, name));
    const chart = (flags: readonly string[], namespace = 'default'): Promise<readonly Manifest[]> =>
      tools.chart(chartFolder, namespace, flags);

    it.each(overlays)('takes all of the overlay %s, and every pod it describes', async (name) => {
      const manifests = await overlay(name);
      expect(kinds(manifests)).toEqual(
        expect.arrayContaining(['Deployment', 'NetworkPolicy', 'PodDisruptionBudget', 'Role']),
      );
      expect(await refused(manifests)).toEqual([]);
      expect(await refused(podsOf(manifests))).toEqual([]);
    });

    it.each(CHART_FLAGS)(
      'takes all of the chart with %s, and every pod it describes',
      async (_what, flags) => {
        const manifests = await chart(flags);
        expect(kinds(manifests)).toContain('Deployment');
        expect(await refused(manifests)).toEqual([]);
        expect(await refused(podsOf(manifests))).toEqual([]);
      },
    );

    it('takes the picker’s pods where the restricted pod security standard is enforced', async () => {
      const rendered = [
        ...(await overlay('gateway')),
        ...(await overlay('standalone')),
        ...(await chart(['--set=mode=standalone'])),
      ];
      const pods = podsOf(rendered).map((pod) => within(RESTRICTED, pod));
      expect(pods).toHaveLength(3);
      expect(await refused(pods)).toEqual([]);
      const [pod] = pods;
      const lax = { ...pod, spec: { containers: [{ name: 'a', image: 'a' }] } } as Manifest;
      expect(await refused([lax])).toEqual([expect.stringContaining('violates PodSecurity')]);
    });

    it('refuses a manifest with a field that there is not', async () => {
      for (const kind of ['Deployment', 'InferencePool', 'ServiceMonitor', 'HTTPRoute']) {
        const manifest = (await overlay('gateway')).find((each) => each.kind === kind);
        const misspelt = { ...manifest, spec: { ...(manifest?.['spec'] as object), replica: 1 } };
        expect(await refused([misspelt as unknown as Manifest])).toEqual([
          expect.stringContaining('field not declared in schema'),
        ]);
      }
    });

    it('has one set of rules, in the overlays and in the chart', async () => {
      const flags = ['--set=leaderElection=true,nodeLabels=true'];
      expect(rulesOf(await chart(flags))).toEqual(rulesOf(await tools.overlay(allRoles)));
      const reviewing = rulesOf(await chart(['--set=metricsAuth=true']));
      expect(reviewing).toEqual(rulesOf(await tools.overlay(metricsAuth)));
      expect(rulesOf(await chart([]))).toEqual(rulesOf(await overlay('gateway')));
    });

    it('[O200] follows a namePrefix wherever one object names another', async () => {
      const manifests = await tools.overlay(prefixed);
      const core = server.config.makeApiClient(CoreV1Api);
      await core.createNamespace({ body: { metadata: { name: 'inference' } } });
      expect(await refused(manifests)).toEqual([]);
      const text = (kind: string): string =>
        JSON.stringify(manifests.find((manifest) => manifest.kind === kind));
      expect(text('InferencePool')).toContain('"name":"a-pointsman","port"');
      expect(text('HTTPRoute')).toContain('"kind":"InferencePool","name":"a-my-pool"');
      expect(text('Secret')).toContain('service-account.name":"a-pointsman-metrics-reader"');
      expect(text('ServiceMonitor')).toContain('"name":"a-pointsman-metrics-reader"');
      expect(text('NetworkPolicy')).toContain('"kubernetes.io/metadata.name":"keda"');
    });

    it('puts every object of the chart in the release’s namespace', async () => {
      const [, flags] = CHART_FLAGS[2] ?? ['', []];
      const manifests = await chart(flags, 'elsewhere');
      const astray = manifests.filter(
        ({ kind, metadata }) => !kind.startsWith('Cluster') && metadata.namespace !== 'elsewhere',
      );
      expect(astray).toEqual([]);
    });

    it.each([
      ['replicas=0', /replicas/],
      ['mode=sidecar', /mode/],
      ['replica=2', /replica/],
      ['pool.targetPorts={70000}', /targetPorts/],
      ['pool.failureMode=Open', /failureMode/],
      ['networkPolicy.monitoringNamespace=A_B', /monitoringNamespace/],
      ['resources.limit.memory=1Gi', /limit/],
    ])('has the chart refuse the value %s, by its name', async (value, name) => {
      await expect(chart(['--set', value])).rejects.toThrow(name);
    });

    it('has the Envoy and the P/D configuration that are tested elsewhere, byte for byte', () => {
      const read = (path: string): string => readFileSync(join(deploy, path), 'utf8');
      expect(read('helm/pointsman/files/envoy/envoy.yaml')).toBe(read('envoy.yaml'));
      expect(read('kubernetes/overlays/disaggregation/config.yaml')).toBe(
        read('disaggregation.yaml'),
      );
    });
  },
);

const kinds = (manifests: readonly Manifest[]): readonly string[] =>
  manifests.map(({ kind }) => kind);

interface PodTemplate {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
  readonly spec: object;
}

/** A pod of each template, wherever in a manifest that is. */
function podsOf(manifests: readonly Manifest[]): readonly Manifest[] {
  return manifests.flatMap(({ metadata, ...rest }) =>
    templatesIn(rest).map(({ metadata: own, spec }, index) => ({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        ...own,
        name: `${metadata.name}-${index}`,
        namespace: metadata.namespace ?? 'default',
      },
      spec,
    })),
  );
}

function templatesIn(value: unknown): readonly PodTemplate[] {
  if (typeof value !== 'object' || value === null) return [];
  const { spec } = value as { readonly spec?: { readonly containers?: unknown } };
  if (Array.isArray(spec?.containers)) return [value as PodTemplate];
  return Object.values(value).flatMap(templatesIn);
}

const within = (namespace: string, manifest: Manifest): Manifest => ({
  ...manifest,
  metadata: { ...manifest.metadata, namespace },
});

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Who may do what, one line each, whatever the roles are. */
function rulesOf(manifests: readonly Manifest[]): readonly string[] {
  return manifests
    .filter(({ kind }) => kind === 'Role' || kind === 'ClusterRole')
    .flatMap(({ kind, ...role }) =>
      (role['rules'] as readonly Rule[]).map((rule) => `${kind} ${JSON.stringify(rule)}`),
    )
    .toSorted();
}
