import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { RunsInTurn } from '../support/programs/runs-in-turn.ts';

/**
 * The arguments and variables that the reference's charts give its picker, for values that differ
 * in everything that changes them. Each starts ours, which then serves without its API server.
 */

interface Values {
  readonly selector?: { readonly labels: string; readonly ports: string };
  readonly replicas?: number;
  readonly flags?: Readonly<Record<string, string | number | boolean>>;
  readonly tracing?: boolean;
  readonly metricsAuth?: boolean;
  readonly priorityRouting?: boolean;
  readonly agentgateway?: boolean;
  readonly grpcHealthPort?: number;
  readonly pluginsConfigFile?: string;
  readonly latencyPredictor?: boolean;
}

/** As the template of the Deployment makes them of values. */
function argsOf(values: Values): readonly string[] {
  const { selector, replicas = 1, flags = {}, tracing = false, metricsAuth = true } = values;
  const { priorityRouting = false, agentgateway = false, grpcHealthPort = 9003 } = values;
  const all = { ...(agentgateway && { 'secure-serving': false }), ...flags };
  return [
    ...(selector === undefined
      ? ['--pool-name', 'release', '--pool-namespace', 'inference']
      : ['--endpoint-selector', selector.labels, '--endpoint-target-ports', selector.ports]),
    ...(selector === undefined ? ['--pool-group', 'inference.networking.k8s.io'] : []),
    '--zap-encoder',
    'json',
    '--config-file',
    join(folder, values.pluginsConfigFile ?? 'default-plugins.yaml'),
    ...(replicas > 1 && !priorityRouting ? ['--ha-enable-leader-election'] : []),
    '--grpc-health-port',
    String(grpcHealthPort),
    ...(priorityRouting ? ['--health-checking=true'] : []),
    ...Object.entries(all).map(([name, value]) => `--${name}=${value}`),
    `--tracing=${tracing}`,
    ...(metricsAuth ? [] : ['--metrics-endpoint-auth=false']),
  ];
}

function environmentOf({ tracing = false, latencyPredictor = false }: Values): NodeJS.ProcessEnv {
  return {
    NAMESPACE: 'inference',
    POD_NAME: 'release-epp-5c9d8f7b6-x7k2p',
    ...(latencyPredictor && {
      PREDICTION_SERVER_URL: 'http://localhost:8001,http://localhost:8002',
      TRAINING_SERVER_URL: 'http://localhost:8000',
      LATENCY_MAX_SAMPLE_SIZE: '10000',
      LATENCY_COALESCE_WINDOW_MS: '1',
    }),
    ...(tracing && {
      OTEL_SERVICE_NAME: 'llm-d-router/epp',
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://localhost:4317',
      OTEL_RESOURCE_ATTRIBUTES_NODE_NAME: 'node-1',
      OTEL_RESOURCE_ATTRIBUTES_POD_NAME: 'release-epp-5c9d8f7b6-x7k2p',
      OTEL_RESOURCE_ATTRIBUTES: 'k8s.namespace.name=inference,k8s.pod.name=release-epp-5c9d8f7b6',
      OTEL_TRACES_EXPORTER: 'otlp',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0.1',
    }),
  };
}

const VARIANTS: readonly (readonly [what: string, values: Values])[] = [
  ['the defaults', {}],
  ['no pool, one port', { selector: { labels: 'app=vllm', ports: '8000' } }],
  [
    'no pool, several labels and ranks',
    { selector: { labels: 'app=vllm,llm-d.ai/role=decode', ports: '8000,8001,8002,8003' } },
  ],
  ['three replicas, of which one leads', { replicas: 3 }],
  ['metrics without a token', { metricsAuth: false }],
  ['traces', { tracing: true }],
  ['the latency predictor', { latencyPredictor: true }],
  ['the proxy agentgateway', { agentgateway: true }],
  ['routing by priority', { priorityRouting: true, replicas: 2 }],
  [
    'two replicas that both serve, and a health port of its own',
    {
      replicas: 2,
      grpcHealthPort: 9103,
      flags: { 'allow-experimental-plugins': true, 'ha-enable-leader-election': false },
    },
  ],
  [
    'no pool, three replicas, traces, the latency predictor, and metrics without a token',
    {
      selector: { labels: 'app=vllm', ports: '8000' },
      replicas: 3,
      tracing: true,
      latencyPredictor: true,
      metricsAuth: false,
      flags: { v: 4, 'metrics-staleness-threshold': '500ms' },
    },
  ],
  ['a configuration without bodies', { pluginsConfigFile: 'payload-agnostic.yaml' }],
  [
    'many flags',
    {
      flags: {
        v: 5,
        'drain-timeout': '45s',
        'allow-experimental-plugins': true,
        'emit-endpoint-scores': true,
        'enable-cert-reload': true,
        'enable-grpc-stream-metrics': true,
        'enable-pprof': false,
        'fairness-id-metric-label-limit': 100,
        'feature-gates': 'flowControl=true',
        'grpc-max-recv-msg-size': '25MB',
        'metrics-staleness-threshold': '3s',
        'plugin-state-staleness-threshold': '10m',
        'refresh-metrics-interval': '100ms',
        'refresh-prometheus-metrics-interval': '10s',
        'secure-serving': true,
        'tls-cipher-suites': 'TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_RSA_WITH_AES_128_CBC_SHA',
        'tls-min-version': 'VersionTLS12',
        'watch-config-file': true,
        'zap-time-encoding': 'rfc3339',
      },
    },
  ],
];

const folder = mkdtempSync(join(tmpdir(), 'pointsman-charts-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The profile of the charts' default configuration, with and without the prefix. */
const configOf = (...scorers: readonly string[]): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
plugins: [${scorers.map((type) => `{ type: ${type} }`).join(', ')}]
schedulingProfiles:
- name: default
  plugins: [${scorers.map((type) => `{ pluginRef: ${type}, weight: 2 }`).join(', ')}]
`;

beforeAll(() => {
  const body = configOf('queue-scorer', 'kv-cache-utilization-scorer', 'prefix-cache-scorer');
  writeFileSync(join(folder, 'default-plugins.yaml'), body);
  const agnostic = configOf('active-request-scorer', 'session-affinity-scorer');
  writeFileSync(join(folder, 'payload-agnostic.yaml'), agnostic);
  // Nothing listens there: the API server is away.
  const kubeconfig = {
    clusters: [{ name: 'c', cluster: { server: 'http://127.0.0.1:1' } }],
    users: [{ name: 'u', user: { token: 't' } }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(join(folder, 'kubeconfig'), JSON.stringify(kubeconfig));
});

const SERVES = /^.*?"msg":"serving".*?\n/s;
const runs = new RunsInTurn();
afterAll(() => runs.stop());

/** Starts ours on free ports. Resolves with its log up to the line that says that it serves. */
async function started(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<readonly string[]> {
  // The last value of a flag that is given twice counts.
  const ports = ['--grpc-port=0', '--grpc-health-port=0', '--metrics-port=0'];
  const env = { ...environment, KUBECONFIG: join(folder, 'kubeconfig') };
  const { code, stderr } = await runs.run([...args, ...ports], env, SERVES);
  if (code === undefined) return SERVES.exec(stderr)?.[0].trimEnd().split('\n') ?? [];
  throw new Error(`it ended with ${code} instead of serving: ${stderr}`);
}

describe('the arguments of the reference’s charts start ours', () => {
  expect(VARIANTS).toHaveLength(13);
  test.each(VARIANTS)('[D92] with %s', async (_what, values) => {
    const log = await started(argsOf(values), environmentOf(values));
    const followed = values.selector === undefined ? 'inference/release' : 'inference/release-epp';
    expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ inferencePool: followed });
    const passedOver = log.filter((line) => line.includes('change nothing here'));
    expect(passedOver).toHaveLength(1);
  });
});

/** What others give it: KServe's presets, of now and of its first releases, and older charts. */
const OTHERS: readonly (readonly [what: string, line: string, more: readonly string[]])[] = [
  [
    'KServe, with several replicas and a TLS profile',
    '--pool-name release --pool-namespace inference --zap-encoder json --grpc-port 9002 ' +
      '--grpc-health-port 9003 --kv-cache-usage-percentage-metric vllm:kv_cache_usage_perc ' +
      '--secure-serving --model-server-metrics-scheme https --tls-min-version=VersionTLS12 ' +
      '--model-server-metrics-https-insecure-skip-verify --ha-enable-leader-election',
    ['', '--config-text', configOf('queue-scorer')],
  ],
  [
    'KServe, first',
    '--poolName release --poolNamespace inference --zap-encoder json --grpcPort 9002 ' +
      '--grpcHealthPort 9003 --secureServing --modelServerMetricsScheme https ' +
      '--modelServerMetricsHttpsInsecureSkipVerify',
    ['--configText', configOf('queue-scorer')],
  ],
  [
    'kgateway, with the first picker that it deployed by itself',
    '-poolName release -poolNamespace inference -v 3 -serviceName release-epp -grpcPort 9002 ' +
      '-grpcHealthPort 9003',
    [],
  ],
  [
    'the chart of model services',
    '--poolName release --poolNamespace inference -v 4 --zap-encoder json --grpcPort 9002 ' +
      '--grpcHealthPort 9003',
    ['-configFile', join(folder, 'default-plugins.yaml')],
  ],
  [
    'switches whose value is a word of its own, as charts before 1.4 render them',
    '--pool-name release --pool-namespace inference --v 1 --secure-serving false --tracing=false',
    ['--config-file', join(folder, 'default-plugins.yaml')],
  ],
  [
    'a switch with its value in its name, and an empty one, against what those charts render',
    '--pool-name release --pool-namespace inference --ha-enable-leader-election --v 4 ' +
      '--ha-enable-leader-election=false',
    ['', '--config-file', join(folder, 'default-plugins.yaml')],
  ],
  [
    'names and a path in quotes, as charts of 1.4 and 1.5 render them for TensorRT-LLM',
    '--pool-name release --pool-namespace inference ' +
      '--total-queued-requests-metric="trtllm_num_requests_waiting" ' +
      '--cache-info-metric="trtllm_cache_config_info" ' +
      '--model-server-metrics-path="/prometheus/metrics" --lora-info-metric',
    ['', '--config-file', join(folder, 'default-plugins.yaml')],
  ],
  [
    'a hub of pools, which scrapes pickers',
    '--pool-name=release --pool-namespace=inference --secure-serving=false ' +
      '--metrics-endpoint-auth=false --health-checking=true --refresh-metrics-interval=5s ' +
      '--model-server-metrics-port=8081 --model-server-metrics-path=/metrics ' +
      '--model-server-metrics-scheme=https --metrics-staleness-threshold=30s',
    ['--config-file', join(folder, 'default-plugins.yaml')],
  ],
];

describe('what other charts and operators give the reference starts ours', () => {
  test.each(OTHERS)('[D499] %s', async (_what, line, more) => {
    const log = await started([...line.split(' '), ...more], {});
    expect(JSON.parse(log.at(-1) ?? '')).toMatchObject({ inferencePool: 'inference/release' });
  });
});
