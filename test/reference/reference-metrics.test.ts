import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Publisher } from 'zeromq';
import { eventually, serveOptions } from '../../bench/support/stack.ts';
import { configFileOf } from '../../src/catalogue/plan.ts';
import { type Serving, startServe } from '../../src/serve/serve.ts';
import {
  exchange,
  requestBody,
  requestHeaders,
  responseEnd,
  responseHeaders,
  responsePart,
} from '../support/grpc/ext-proc-client.ts';

/**
 * The metrics of the reference picker as data (test/fixtures/reference-metrics.json), and the
 * series that its dashboard and its guides for autoscaling ask for, on the page of a picker that
 * has served requests, with a publisher of KV events. Metrics of flow control and of some plugins
 * have tests of their own.
 */

interface NamedLabels {
  readonly name: string;
  readonly labels: readonly string[];
}
interface ReferenceMetric extends NamedLabels {
  readonly type: string;
  readonly buckets?: readonly number[];
  /** Its former names. */
  readonly former?: readonly NamedLabels[];
}
interface ReferenceQuery {
  readonly where: string;
  readonly series: string;
  readonly labels: readonly string[];
  /** The labels, as the page writes them, of a line that has to be there. */
  readonly with?: string;
}

const dataOf = (file: string): unknown =>
  JSON.parse(readFileSync(join(import.meta.dirname, '../fixtures', file), 'utf8'));
const metrics = dataOf('reference-metrics.json') as readonly ReferenceMetric[];
const queries = dataOf('reference-queries.json') as readonly ReferenceQuery[];

const configWith = (enginePort: number, eventsPort: string): string => `
apiVersion: llm-d.ai/v1alpha1
kind: EndpointPickerConfig
featureGates: [flowControl]
flowControl: { saturationDetector: { pluginRef: concurrency-detector } }
plugins:
- { type: concurrency-detector }
- { type: token-producer, parameters: { vllm: { url: 'http://127.0.0.1:${enginePort}', timeout: 30s } } }
- type: precise-prefix-cache-producer
  parameters: { kvEventsConfig: { podDiscoveryConfig: { socketPort: ${eventsPort} } } }
- type: prefix-cache-scorer
  name: precise
  parameters: { prefixMatchInfoProducerName: precise-prefix-cache-producer }
- { type: queue-scorer }
- { type: prefix-cache-scorer }
- { type: prefix-cache-affinity-filter }
- { type: models-data-source }
- { type: models-data-extractor }
- { type: served-model-filter }
- { type: predicted-latency-producer }
- { type: always-disagg-pd-decider }
- type: disagg-profile-handler
  parameters: { profiles: { decode: decode }, deciders: { prefill: always-disagg-pd-decider } }
schedulingProfiles:
- name: decode
  plugins: [{ pluginRef: served-model-filter }, { pluginRef: prefix-cache-affinity-filter }, { pluginRef: queue-scorer, weight: 1 }, { pluginRef: prefix-cache-scorer, weight: 1 }, { pluginRef: precise, weight: 1 }]
`;
const PAGE = `vllm:num_requests_waiting 1
vllm:num_requests_running 2
vllm:kv_cache_usage_perc 0.5
vllm:nixl_num_failed_transfers_total 4
vllm:nixl_num_failed_notifications_total 5
vllm:nixl_num_kv_expired_reqs_total 6
`;
const HEADERS = {
  ':method': 'POST',
  ':path': '/v1/completions',
  'x-slo-ttft-ms': '0.0001',
  'content-type': 'application/json',
};
const PROMPT = 'hello '.repeat(200);
const BODY = JSON.stringify({ model: 'm', prompt: PROMPT, stream: true });
const USAGE =
  '{"prompt_tokens":600,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":0}}';

const TOKENS = Array.from({ length: 16 }, (_, at) => at);

const folder = mkdtempSync(join(tmpdir(), 'pointsman-metrics-'));
const events = new Publisher();
let engine: Server;
let serving: Serving;
/** The lines of the page by the name of their series. */
const lines = new Map<string, string[]>();
const types = new Map<string, string>();

beforeAll(async () => {
  engine = createServer(({ url = '' }, response) => {
    response.end(url.endsWith('/render') ? JSON.stringify([{ token_ids: TOKENS }]) : PAGE);
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => engine.once('listening', resolve));
  const config = join(folder, 'config.yaml');
  await events.bind('tcp://127.0.0.1:*');
  const { port } = engine.address() as AddressInfo;
  const eventsPort = events.lastEndpoint?.split(':').at(-1) ?? '';
  writeFileSync(config, configWith(port, eventsPort));
  const address = `127.0.0.1:${port}`;
  const shown = { deprecatedMetrics: true, grpcStreamMetrics: true };
  const options = serveOptions({ endpoints: [address], ...shown }, config);
  serving = await startServe({ ...options, configFile: await configFileOf(config, []) });
  await eventually(page, (text) => text.includes('llm_d_epp_ready_endpoints{name="test"} 1'));
  await eventually(published, (text) => text.includes('messages_received_total{'));
  await stream();
  await exchange(serving.extProcPort, [requestHeaders(HEADERS), requestBody('{')]);
  for (const line of (await page()).split('\n')) {
    const [, type, kind = ''] = /^# TYPE (\S+) (\S+)$/.exec(line) ?? [];
    if (type !== undefined) types.set(type, kind);
    const [, name] = /^(\w+)[{ ]/.exec(line) ?? [];
    if (name !== undefined) lines.set(name, [...(lines.get(name) ?? []), line]);
  }
});
afterAll(async () => {
  await serving?.stop();
  engine?.close();
  events.close();
  rmSync(folder, { recursive: true });
});

async function page(): Promise<string> {
  return (await fetch(`http://127.0.0.1:${serving.metricsPort}/metrics`)).text();
}

/** The page after a block that was stored. */
async function published(): Promise<string> {
  const batch = encode([1, [['BlockStored', [7], null, TOKENS, 16, null, 'GPU', null]], 0]);
  await events.send(['kv@127.0.0.1@m', Buffer.alloc(8), batch]);
  return page();
}

/** One request whose answer streams: three pieces, and the tokens used. */
async function stream(): Promise<void> {
  await exchange(serving.extProcPort, [
    requestHeaders(HEADERS),
    requestBody(BODY),
    responseHeaders({ ':status': '200', 'content-type': 'text/event-stream' }),
    responsePart('data: {"choices":[{"text":"a"}]}\n\n'),
    responsePart('data: {"choices":[{"text":"b"}]}\n\n'),
    responseEnd(`data: {"choices":[],"usage":${USAGE}}\n\ndata: [DONE]\n\n`),
  ]);
}

const labelsIn = (line: string): readonly string[] =>
  [...line.matchAll(/(\w+)="/g)].map(([, label = '']) => label).sort();

/** The lines of a metric; of a histogram, those of its sum. */
const linesOf = (name: string, type: string): readonly string[] =>
  lines.get(type === 'histogram' ? `${name}_sum` : name) ?? [];

/** Metrics without an event in this test; their labels are in tests of their own. */
const WITHOUT_EVENTS = ['model_rewrite_decisions_total', 'datalayer_poll_errors_total'];
const hasEvents = ({ name }: ReferenceMetric): boolean =>
  !WITHOUT_EVENTS.some((each) => name.endsWith(each));

describe('the metrics of the reference', () => {
  test.each(metrics)('[D97] $name is there with its type', ({ name, type, former = [] }) => {
    expect(types.get(name)).toBe(type);
    for (const each of former) expect([each.name, types.get(each.name)]).toEqual([each.name, type]);
  });

  test.each(metrics.filter(hasEvents))(
    '[D97] $name has its labels and buckets',
    ({ name, type, labels, buckets = [], former = [] }) => {
      for (const each of [{ name, labels }, ...former]) {
        const found = linesOf(each.name, type);
        expect([each.name, found.length]).not.toEqual([each.name, 0]);
        for (const line of found)
          expect([each.name, labelsIn(line)]).toEqual([each.name, each.labels]);
        const bounds = (lines.get(`${each.name}_bucket`) ?? []).flatMap((line) => {
          const [, bound = '+Inf'] = /[{,]le="([^"]+)"/.exec(line) ?? [];
          return bound === '+Inf' ? [] : [Number(bound)];
        });
        expect([...new Set(bounds)]).toEqual(buckets);
      }
    },
  );

  test.each(queries)('[D98] the $where finds $series by $labels', (query) => {
    const { series, labels, with: given = '' } = query;
    const found = (lines.get(series) ?? []).filter((line) => line.includes(given));
    expect(found.length).toBeGreaterThan(0);
    for (const line of found) expect(labelsIn(line)).toEqual(expect.arrayContaining([...labels]));
  });
});

test('[D507] failed transfers of KV blocks are those that the server reports', () => {
  const shown = [...lines.values()].flat().filter((line) => line.includes('_nixl_'));
  expect(shown.map((line) => line.replace(/^.*_nixl_|\{.*\}/g, ''))).toEqual([
    'failed_transfers_total 4',
    'failed_notifications_total 5',
    'kv_expired_requests_total 6',
  ]);
});

test('[D512] times to the first token have the names of releases with a latency predictor', () => {
  const counts = ['inference_objective', 'llm_d_router_epp'].map((prefix) =>
    lines.get(`${prefix}_request_ttft_seconds_count`),
  );
  for (const each of counts)
    expect(each?.[0]).toMatch(/\{model_name="m",target_model_name="m"\} 1$/);
});

test('[D514] what is counted of requests has the names of the first releases, too', () => {
  const firsts = [...types].filter(([name]) => name.startsWith('inference_model_'));
  for (const [name, type] of firsts) {
    const later = name.replace('_model_', '_objective_');
    expect([name, types.get(later)]).toEqual([name, type]);
  }
  expect(firsts.length).toBeGreaterThan(8);
  const total = lines.get('inference_model_request_total') ?? [];
  expect(total).toContain('inference_model_request_total{model_name="m",target_model_name="m"} 1');
  expect(lines.get('inference_model_output_tokens_count')?.[0]).toMatch(/ 1$/);
});

test('[D386] the size of each prefix index has the type of its plugin', () => {
  const sizes = lines.get('llm_d_epp_prefix_indexer_size') ?? [];
  const labels = sizes.map((line) => line.replace(/ \d+$/, '').replace(/^.*_size/, ''));
  expect(labels.toSorted()).toEqual([
    '{plugin_name="approx-prefix-cache-producer",plugin_type="approx-prefix-cache-producer"}',
    '{plugin_name="precise-prefix-cache-producer",plugin_type="precise-prefix-cache-producer"}',
  ]);
});

test('[D155] flow control, KV events, polls and streams have their former names, too', () => {
  for (const name of [
    'inference_extension_flow_control_request_queue_duration_seconds',
    'llm_d_router_epp_flow_control_requests_total',
    'kvcache_index_evictions_total',
    'llm_d_router_epp_datalayer_poll_errors_total',
    'llm_d_router_epp_extproc_streams_total',
  ]) {
    expect([name, types.get(name)]).not.toEqual([name, undefined]);
  }
  const [line = ''] = lines.get('llm_d_epp_flow_control_pool_saturation') ?? [];
  expect(lines.get('inference_extension_flow_control_pool_saturation')).toContain(
    line.replace('llm_d_epp_', 'inference_extension_'),
  );
});

test('[D509] reloads of the configuration are counted by their result', async () => {
  const config = join(folder, 'config.yaml');
  const text = readFileSync(config, 'utf8');
  expect(lines.get('llm_d_epp_config_active_generation')?.[0]).toMatch(/ 1$/);
  expect(lines.get('llm_d_epp_config_last_reload_success_timestamp_seconds')?.[0]).toMatch(/ 0$/);
  writeFileSync(config, `${text}flowControll: {}\n`);
  await eventually(page, (shown) => shown.includes('config_reload_total{result="invalid"} 1'));
  writeFileSync(config, text.replace('weight: 1', 'weight: 2'));
  await eventually(page, (shown) => shown.includes('config_reload_total{result="success"} 1'));
  const shown = await page();
  expect(shown).toContain('llm_d_epp_config_active_generation 2\n');
  expect(shown).toMatch(/config_last_reload_success_timestamp_seconds 1\d{9}/);
});

test('[D99] without --deprecated-metrics and --grpc-stream-metrics these are not there', async () => {
  const plain = await startServe(serveOptions({}));
  const text = await (await fetch(`http://127.0.0.1:${plain.metricsPort}/metrics`)).text();
  await plain.stop();
  expect(text).not.toMatch(
    /# TYPE (?:inference_|kvcache_|llm_d_router_epp_|llm_d_inference_scheduler_)/,
  );
  expect(text).not.toContain('extproc_stream');
});
