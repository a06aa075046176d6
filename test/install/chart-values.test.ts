import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type ManifestTools, manifestToolsOrSkip } from '../support/kubernetes/manifest-tools.ts';

/** Each value of the chart: what it changes in the rendered manifests, and its row in the docs. */

const root = join(import.meta.dirname, '../..');
const chart = join(root, 'deploy/helm/pointsman');
/** Maps that are values as a whole, because Kubernetes defines what is in them. */
const WHOLE = ['pool.selector', 'resources', 'envoy.resources', 'podAnnotations', 'nodeSelector'];

interface Change {
  readonly set: readonly string[];
  readonly shows: RegExp;
}

const POOL = /"kind":"InferencePool"/;
const CHANGES: Readonly<Record<string, Change>> = {
  mode: { set: ['mode=standalone'], shows: /"--insecure"/ },
  'image.repository': { set: ['image.repository=mine'], shows: /"image":"mine:/ },
  'image.tag': { set: ['image.tag=v9'], shows: /"image":"pointsman:v9"/ },
  'image.pullPolicy': { set: ['image.pullPolicy=Never'], shows: /"imagePullPolicy":"Never"/ },
  imagePullSecrets: {
    set: ['imagePullSecrets[0].name=pull'],
    shows: /"imagePullSecrets":\[\{"name":"pull"\}\]/,
  },
  replicas: { set: ['replicas=7'], shows: /"replicas":7/ },
  'pool.name': { set: ['pool.name=other'], shows: /"--pool-name=other"/ },
  'pool.create': { set: ['pool.create=false'], shows: /^(?!.*"kind":"InferencePool")/ },
  'pool.selector': { set: ['pool.selector.app=sglang'], shows: /\{"app":"sglang"\}/ },
  'pool.targetPorts': { set: ['pool.targetPorts={8001}'], shows: /"number":8001/ },
  'pool.failureMode': { set: ['pool.failureMode=FailOpen'], shows: /"FailOpen"/ },
  config: { set: ['config=kind: EndpointPickerConfig'], shows: /kind: EndpointPickerConfig/ },
  extraArgs: { set: ['extraArgs={--log-level=debug}'], shows: /"--log-level=debug"/ },
  extraEnv: {
    set: ['extraEnv[0].name=A', 'extraEnv[0].value=b'],
    shows: /"env":\[\{"name":"A","value":"b"\}\]/,
  },
  extraVolumes: {
    set: ['extraVolumes[0].name=mine', 'extraVolumes[0].configMap.name=plugins'],
    shows: /"volumes":\[[^\]]*"configMap":\{"name":"plugins"\}/,
  },
  extraVolumeMounts: {
    set: ['extraVolumeMounts[0].name=mine', 'extraVolumeMounts[0].mountPath=/plugins'],
    shows: /"volumeMounts":\[[^\]]*"mountPath":"\/plugins"/,
  },
  'sharing.nats': { set: ['sharing.nats=nats://n'], shows: /"--replicas-nats=nats:\/\/n"/ },
  'sharing.keySecret': {
    set: ['sharing.nats=nats://n', 'sharing.keySecret=shared'],
    shows: /"--replicas-key-file=.*"secretName":"shared"/,
  },
  leaderElection: { set: ['leaderElection=true'], shows: /"leases"/ },
  nodeLabels: { set: ['nodeLabels=true'], shows: /"nodes"/ },
  'tls.secret': { set: ['tls.secret=cert'], shows: /"secretName":"cert"/ },
  'tls.clientCa': { set: ['tls.secret=cert', 'tls.clientCa=true'], shows: /ca\.crt/ },
  adminTokenSecret: { set: ['adminTokenSecret=admin'], shows: /"secretName":"admin"/ },
  metricsAuth: { set: ['metricsAuth=true'], shows: /"tokenreviews"/ },
  resources: { set: ['resources.requests.cpu=3'], shows: /"cpu":"?3"?[,}]/ },
  'envoy.image': { set: ['mode=standalone', 'envoy.image=e:1'], shows: /"image":"e:1"/ },
  'envoy.resources': {
    set: ['mode=standalone', 'envoy.resources.limits.memory=3Gi'],
    shows: /"memory":"3Gi"/,
  },
  'podDisruptionBudget.enabled': {
    set: ['podDisruptionBudget.enabled=false'],
    shows: /^(?!.*"kind":"PodDisruptionBudget")/,
  },
  'podDisruptionBudget.maxUnavailable': {
    set: ['podDisruptionBudget.maxUnavailable=50%'],
    shows: /"maxUnavailable":"50%"/,
  },
  'networkPolicy.enabled': {
    set: ['networkPolicy.enabled=false'],
    shows: /^(?!.*"kind":"NetworkPolicy")/,
  },
  'networkPolicy.monitoringNamespace': {
    set: ['networkPolicy.monitoringNamespace=watch'],
    shows: /"kubernetes\.io\/metadata\.name":"watch"/,
  },
  'networkPolicy.egress': {
    set: ['networkPolicy.egress[0].ports[0].port=4222'],
    shows: /"ports":\[\{"port":4222\}\]/,
  },
  'serviceMonitor.enabled': {
    set: ['serviceMonitor.enabled=true'],
    shows: /"kind":"ServiceMonitor"/,
  },
  'serviceMonitor.interval': {
    set: ['serviceMonitor.enabled=true', 'serviceMonitor.interval=9s'],
    shows: /"interval":"9s"/,
  },
  'dashboard.enabled': { set: ['dashboard.enabled=true'], shows: /grafana_dashboard/ },
  'scaler.enabled': {
    set: ['scaler.enabled=true'],
    shows: /(?=.*"--scaler-port=9004")(?=.*"port":9004,"targetPort":"scaler")/,
  },
  'scaler.namespace': {
    set: ['scaler.enabled=true', 'scaler.namespace=autoscaling'],
    shows: /"kubernetes\.io\/metadata\.name":"autoscaling"/,
  },
  podAnnotations: { set: ['podAnnotations.a=b'], shows: /"annotations":\{"a":"b"\}/ },
  nodeSelector: { set: ['nodeSelector.disk=ssd'], shows: /"nodeSelector":\{"disk":"ssd"\}/ },
  tolerations: { set: ['tolerations[0].operator=Exists'], shows: /"operator":"Exists"/ },
  affinity: { set: ['affinity.nodeAffinity.a=b'], shows: /"nodeAffinity":\{"a":"b"\}/ },
};

/** Path and default of each value, such as `image.tag`. */
function valuesIn(value: unknown, path = ''): readonly (readonly [string, unknown])[] {
  const isGroup = value !== null && typeof value === 'object' && !Array.isArray(value);
  if (!isGroup || WHOLE.includes(path) || Object.keys(value).length === 0) return [[path, value]];
  return Object.entries(value).flatMap(([key, each]) =>
    valuesIn(each, path === '' ? key : `${path}.${key}`),
  );
}

const values = valuesIn(parse(readFileSync(join(chart, 'values.yaml'), 'utf8')));

test('[O107] docs/helm-values.md has each value of the chart with its default', () => {
  const page = readFileSync(join(root, 'docs/helm-values.md'), 'utf8');
  const [table = ''] = page.split('## From');
  const rows = [...table.matchAll(/^\| `([^`]+)` +\| (.*?) +\| /gm)];
  expect(rows.map(([, path]) => path)).toEqual(values.map(([path]) => path));
  for (const [, path = '', shown = ''] of rows) {
    const value = new Map(values).get(path);
    const text = typeof value === 'string' && value !== '' ? value : JSON.stringify(value);
    if (!path.endsWith('resources')) expect(shown, path).toBe(`\`${text}\``);
  }
});

const tools = manifestToolsOrSkip();

describe.skipIf(tools === undefined)('the chart, rendered by helm', () => {
  let unchanged: string;
  const rendered = async ({ chart: render }: ManifestTools, set: readonly string[]) => {
    const flags = set.flatMap((each) => ['--set', each]);
    return (await render(chart, 'inference', flags))
      .map((manifest) => JSON.stringify(manifest))
      .join(' ');
  };
  beforeAll(async () => {
    if (tools !== undefined) unchanged = await rendered(tools, []);
  });

  test('[O108] has a test for each value', () => {
    expect(Object.keys(CHANGES)).toEqual(values.map(([path]) => path));
    expect(unchanged).toMatch(POOL);
  });

  test('[O201] gives Prometheus a token that may read the metrics, where they ask for one', async () => {
    if (tools === undefined) return;
    const asked = await rendered(tools, ['metricsAuth=true', 'serviceMonitor.enabled=true']);
    expect(asked).toContain(
      '"authorization":{"credentials":{"name":"rel-pointsman-metrics-reader"',
    );
    expect(asked).toContain('"kubernetes.io/service-account.name":"rel-pointsman-metrics-reader"');
    expect(asked).toContain('"name":"inference-rel-pointsman-metrics-reader"}');
    expect(await rendered(tools, ['serviceMonitor.enabled=true'])).not.toContain(
      'authorization":{',
    );
  });

  test.each(Object.entries(CHANGES))('[O108] shows %s', async (_path, { set, shows }) => {
    if (tools === undefined) return;
    expect(unchanged).not.toMatch(shows);
    expect(await rendered(tools, set)).toMatch(shows);
  });
});
