import { describe, expect, it, test } from 'vitest';
import {
  makeContext,
  makeEndpoint,
  makePool,
  makeRequest,
  makeRouted,
  makeRuntime,
} from '../../../test/makers.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Observer } from '../../framework/observer.ts';
import type { EndpointWriter } from '../../framework/plugin.ts';
import type { HttpResponse, Network } from '../../framework/runtime.ts';
import type { Decision, ProfileResult } from '../../framework/scheduling.ts';
import type { PrefixSource } from '../../picker/cores/scheduling-core.ts';
import type { DecisionEvent } from '../../picker/events/journal.ts';
import { approxPrefixProducer } from '../../plugins/producers/approx-prefix-producer.ts';
import { countPolls, PickerMetrics } from './metrics.ts';
import { metricsSubscriber } from './metrics-subscriber.ts';
import { showMetric } from './page/family.ts';

const usage = { promptTokens: 600, completionTokens: 11, cachedTokens: 0 };
const errorLine = (model: string, code: string, count: number): string =>
  `llm_d_epp_request_error_total{error_code="${code}",fairness_id="default-flow",model_name="${model}",priority="0",target_model_name="${model}"} ${count}\n`;

describe('PickerMetrics', () => {
  it('carries the reference’s names, types and label order', async () => {
    const page = await new PickerMetrics({ build: { commit: 'c0ffee', buildRef: 'v1' } }).page();
    const types = Object.fromEntries(
      [...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type]) => [name, type]),
    );
    expect(types).toEqual({
      llm_d_epp_kv_cache_index_lookup_latency_seconds: 'histogram',
      llm_d_epp_model_rewrite_decisions_total: 'counter',
      llm_d_epp_request_total: 'counter',
      llm_d_epp_request_error_total: 'counter',
      llm_d_epp_request_running: 'gauge',
      llm_d_epp_request_duration_seconds: 'histogram',
      llm_d_epp_request_size_bytes: 'histogram',
      llm_d_epp_response_size_bytes: 'histogram',
      llm_d_epp_request_input_tokens: 'histogram',
      llm_d_epp_request_output_tokens: 'histogram',
      llm_d_epp_request_cached_tokens: 'histogram',
      llm_d_epp_request_ttft_seconds: 'histogram',
      llm_d_epp_request_ntpot_seconds: 'histogram',
      llm_d_epp_request_streaming_itl_seconds: 'histogram',
      llm_d_epp_request_streaming_tpot_seconds: 'histogram',
      llm_d_epp_scheduler_e2e_duration_seconds: 'histogram',
      llm_d_epp_scheduler_attempts_total: 'counter',
      llm_d_epp_plugin_duration_seconds: 'histogram',
      llm_d_epp_prefix_indexer_hit_ratio: 'histogram',
      llm_d_epp_prefix_indexer_hit_bytes: 'histogram',
      llm_d_epp_prefix_predicted_cached_tokens: 'histogram',
      llm_d_epp_prefix_prompt_tokens: 'histogram',
      llm_d_epp_prefix_best_predicted_cached_tokens: 'histogram',
      llm_d_epp_prefix_best_available_cached_tokens: 'histogram',
      llm_d_epp_prefix_predicted_tokens_total: 'counter',
      llm_d_epp_prefix_reported_tokens_total: 'counter',
      llm_d_epp_datalayer_poll_errors_total: 'counter',
      llm_d_epp_info: 'gauge',
      pointsman_metrics_series: 'gauge',
      pointsman_metrics_series_limit: 'gauge',
      pointsman_metrics_folded_total: 'counter',
    });
    expect(page).toContain('llm_d_epp_info{build_ref="v1",commit="c0ffee"} 1\n');
    expect(page.match(/^# HELP (?:llm|inference)\S+ (?!\[ALPHA\])/m)).toBe(null);
  });

  it('counts refused requests under the reference’s error names', async () => {
    const metrics = new PickerMetrics();
    const request = makeRequest({ model: 'm' });
    metrics.countError('saturated', request);
    metrics.countError('no-endpoints', request);
    metrics.countError('no-endpoints', request);
    const page = await metrics.page();
    expect(page).toContain(errorLine('m', 'ResourceExhausted', 1));
    expect(page).toContain(errorLine('m', 'ServiceUnavailable', 2));
  });

  it('[D350] counts a refusal under the labels of its request, and without a model where none was read', async () => {
    const metrics = new PickerMetrics();
    const rewrite = { requestedModel: 'alias', rule: undefined };
    metrics.countError('shed', makeRequest({ model: 'm', rewrite, fairnessId: 'f', priority: -1 }));
    metrics.countError('invalid-request', undefined);
    const page = await metrics.page();
    expect(page).toContain(
      'llm_d_epp_request_error_total{error_code="ResourceExhausted",fairness_id="f",model_name="alias",priority="-1",target_model_name="m"} 1\n',
    );
    expect(page).toContain(errorLine('', 'BadRequest', 1));
  });

  it('gives no label to a model name that only ever came in bad requests', async () => {
    const metrics = new PickerMetrics();
    for (let index = 0; index < 50; index++) {
      metrics.countError('unknown-model', makeRequest({ model: `junk-${index}` }));
    }
    const page = await metrics.page();
    expect(page).not.toContain('junk');
    expect(page).toContain('model_name="other"');
  });

  it('[V77] shows no more lines than the limit, whatever names and labels clients invent', async () => {
    const metrics = new PickerMetrics({ linesMax: 5000 });
    const observer = metricsSubscriber(metrics);
    const before = (await metrics.page()).split('\n').length;
    for (let index = 0; index < 2000; index++) {
      const request = makeRequest({
        model: `m${index}`,
        fairnessId: `f${index % 99}`,
        priority: index,
      });
      const routed = makeRouted(makeEndpoint('a'), { request });
      observer.onRouted?.(routed);
      observer.onFirstToken?.(routed, 10);
      observer.onDone?.(routed, 20, 'completed', usage, 100);
      metrics.decisions.attempt(`m${index}`, makeEndpoint(`pod-${index % 20}`));
      metrics.decisions.rewrite('rule', `m${index}`, 't');
    }
    const page = await metrics.page();
    // The two series of `other` come on top.
    expect(page.split('\n').length - before).toBeLessThan(5000 + 400);
    const folded = /pointsman_metrics_folded_total\{kind="requests"\} (\d+)/.exec(page)?.[1];
    expect(Number(folded)).toBeGreaterThan(1900);
    const total = [...page.matchAll(/^llm_d_epp_request_total\{.*\} (\d+)$/gm)];
    expect(total.reduce((sum, [, count]) => sum + Number(count), 0)).toBe(2000);
  });

  it('[V77] drops series that nothing has used for long, and then has room for others', async () => {
    let now = 0;
    const clock = { now: () => now };
    const metrics = new PickerMetrics({ linesMax: 1000, idleMs: 60_000, clock });
    const observer = metricsSubscriber(metrics);
    const route = (model: string) => {
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ model }) });
      observer.onRouted?.(routed);
      return routed;
    };
    const open = route('still-open');
    observer.onDone?.(route('idle'), 1, 'completed', undefined);
    now = 60_000;
    expect(await metrics.page()).toContain('model_name="idle"');
    now = 120_000;
    expect(await metrics.page()).not.toContain('model_name="idle"');
    expect(await metrics.page()).toContain('model_name="still-open"');
    observer.onDone?.(open, 1, 'completed', undefined);
    for (const model of ['a', 'b', 'c', 'd']) route(model);
    expect(await metrics.page()).toContain('model_name="other"');
    now = 300_000;
    await metrics.page();
    observer.onDone?.(route('later'), 1, 'completed', undefined);
    expect(await metrics.page()).toContain('model_name="later"');
  });

  it('[V77] scrapes at the same time share one page', async () => {
    const metrics = new PickerMetrics();
    let made = 0;
    showMetric(metrics.registry, { name: 'made', help: 'm', type: 'gauge' }, () => [
      { labels: {}, value: ++made },
    ]);
    const [one, other] = await Promise.all([metrics.pageBytes(), metrics.pageBytes()]);
    expect(one).toBe(other);
    await metrics.pageBytes();
    expect(made).toBe(2);
  });

  it('[V77] lets other work through while a page is made, and its text is that of prom-client', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
    for (let index = 0; index < 300; index++) {
      const model = `model "${index}"\\\n`;
      const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ model }) });
      observer.onRouted?.(routed);
      observer.onDone?.(routed, 7 * index, 'completed', usage, index);
    }
    let isMade = false;
    let turns = 0;
    const turn = (): void => {
      turns += 1;
      if (!isMade) setImmediate(turn);
    };
    setImmediate(turn);
    const page = await metrics.page();
    isMade = true;
    // A hundred thousand lines take longer than one slice on any machine.
    expect(turns).toBeGreaterThan(2);
    expect(page).toBe(await metrics.registry.metrics());
  });

  it('counts failed polls by source', async () => {
    const metrics = new PickerMetrics();
    metrics.countPollError('metrics-data-source');
    metrics.countPollError('metrics-data-source');
    expect(await metrics.page()).toContain(
      'llm_d_epp_datalayer_poll_errors_total{source_type="metrics-data-source"} 2\n',
    );
  });

  it('shows a prefix index and what the picks found in it', async () => {
    const metrics = new PickerMetrics();
    const pool = makePool([{}, {}]);
    const source = approxPrefixProducer.start(approxPrefixProducer.config.parse({}), {
      name: 'approx-prefix-cache-producer',
      pool: {} as EndpointWriter,
      runtime: makeRuntime(),
    });
    for (const endpoint of pool) source.onEndpointAdded?.(endpoint);
    const name = 'approx-prefix-cache-producer';
    metrics.observePrefixIndexes(pickerOf([{}, source], { name, type: name }), () => pool);
    metricsSubscriber(metrics).onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const page = await metrics.page();
    const labels =
      'plugin_name="approx-prefix-cache-producer",plugin_type="approx-prefix-cache-producer"';
    expect(page).toContain(`llm_d_epp_prefix_indexer_size{${labels}} 0\n`);
    expect(page).toContain(`llm_d_epp_prefix_indexer_hit_ratio_sum{${labels}} 0.5\n`);
    expect(page).toContain(`llm_d_epp_prefix_indexer_hit_bytes_sum{${labels}} 1280\n`);
  });

  it('[D362] counts the most of a prompt that one endpoint had, of those left by filters and of all', async () => {
    const metrics = new PickerMetrics();
    const precise = { name: 'mine', type: 'precise-prefix-cache-producer' };
    const { onDecision } = metricsSubscriber(metrics);
    metrics.observePrefixIndexes(pickerOf([], precise), () => []);
    const pool = makePool([{}, {}, {}]);
    const [first, second] = pool as [Endpoint, Endpoint];
    const context = makeContext({ matchedBlocks: [1, 2, 100] });
    const picked = (endpoint: Endpoint, kept: readonly Endpoint[]) =>
      ({
        kind: 'picked',
        profile: endpoint.id,
        targets: [{ endpoint, score: 1 }],
        run: { kept: [kept] },
      }) as unknown as ProfileResult;
    const decode = picked(first, [first, second]);
    const prefill = picked(second, [second]);
    const event = { request: makeRequest(), candidates: pool, context };
    const tell = (decision: Partial<Decision> | undefined): void =>
      onDecision?.({ ...event, decision } as DecisionEvent);
    tell({ primary: decode, profiles: [decode] });
    tell({ primary: decode, profiles: [decode, prefill], prefill: second });
    tell(undefined);
    const page = await metrics.page();
    const plugin = 'plugin_name="mine",plugin_type="precise-prefix-cache-producer"';
    for (const role of ['decode', 'prefill']) {
      const labels = `{endpoint_role="${role}",modality="none",${plugin}}`;
      expect(page).toContain(`prefix_best_predicted_cached_tokens_sum${labels} 128\n`);
      expect(page).toContain(`prefix_best_available_cached_tokens_sum${labels} 640\n`);
    }
  });

  it('[D362] asks no other endpoint where the one that computes the prompt has most of it', async () => {
    const metrics = new PickerMetrics();
    metrics.observePrefixIndexes(pickerOf([], { name: 'mine', type: 'prefix' }), () => []);
    const [first, second] = makePool([{}, {}]) as [Endpoint, Endpoint];
    const asked: Endpoint[] = [];
    const match = {
      totalBlocks: 10,
      blockTokens: 64,
      matchedBlocks: (endpoint: Endpoint) => (asked.push(endpoint), 2),
      mostBlocks: () => 2,
    };
    const context = { ...makeContext(), get: () => match as never };
    const run = { kept: [[first, second]] };
    const primary = { kind: 'picked', targets: [{ endpoint: first, score: 1 }], run };
    const decision = { primary, profiles: [primary] };
    const event = { request: makeRequest(), candidates: [first, second], context, decision };
    metricsSubscriber(metrics).onDecision?.(event as unknown as DecisionEvent);
    expect(asked).toEqual([first]);
    expect(await metrics.page()).toMatch(/prefix_best_available_cached_tokens_sum\{.*\} 128\n/);
  });

  it('[D351] counts the tokens that were expected to be cached where prompts are computed', async () => {
    const metrics = new PickerMetrics();
    const precise = { name: 'mine', type: 'precise-prefix-cache-producer' };
    const { onRouted } = metricsSubscriber(metrics);
    metrics.observePrefixIndexes(pickerOf([], precise), () => []);
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const elsewhere = { prefill: makeEndpoint('b'), prefillCachedTokens: 64 };
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320, ...elsewhere }));
    metrics.observePrefixIndexes(pickerOf([], undefined), () => []);
    onRouted?.(makeRouted(makeEndpoint('a'), { cachedTokens: 320 }));
    const page = await metrics.page();
    const plugin = 'plugin_name="mine",plugin_type="precise-prefix-cache-producer"';
    for (const [role, cached] of Object.entries({ decode: 320, prefill: 64 })) {
      const labels = `{endpoint_role="${role}",${plugin}}`;
      expect(page).toContain(`llm_d_epp_prefix_predicted_cached_tokens_sum${labels} ${cached}\n`);
      expect(page).toContain(`llm_d_epp_prefix_prompt_tokens_sum${labels} 640\n`);
    }
  });
});

const answers = new Map<string, () => Promise<HttpResponse>>([
  ['http://ok/', () => Promise.resolve({ status: 200, body: new Uint8Array() })],
  ['http://error/', () => Promise.resolve({ status: 500, body: new Uint8Array() })],
  ['http://gone/', () => Promise.reject(new Error('connection refused'))],
]);

it('counts polls that fail or are answered by an error, and passes every answer on', async () => {
  const metrics = new PickerMetrics();
  const network: Network = {
    get: ({ href }) => answers.get(href)?.() ?? Promise.reject(new Error(`no ${href}`)),
  };
  const counted = countPolls(network, metrics, 'metrics-data-source');
  const options = { timeoutMs: 1, bodyBytesMax: 1 };
  expect((await counted.get(new URL('http://ok/'), options)).status).toBe(200);
  expect((await counted.get(new URL('http://error/'), options)).status).toBe(500);
  await expect(counted.get(new URL('http://gone/'), options)).rejects.toThrow('connection refused');
  expect(await metrics.page()).toContain('{source_type="metrics-data-source"} 2\n');
});

test('[D101] with no fairness ids of their own all requests are counted as other', async () => {
  const metrics = new PickerMetrics({ fairnessIdsMax: 0 });
  const key = { model: 'm', targetModel: 'm', priority: 0 };
  for (const fairnessId of ['a', 'b']) {
    metrics.requests.of({ ...key, fairnessId }).requests.value += 1;
  }
  const labels = 'fairness_id="other",model_name="m",priority="0",target_model_name="m"';
  expect(await metrics.page()).toContain(`llm_d_epp_request_total{${labels}} 2\n`);
});

/** A picker with these plugins. */
function pickerOf(observers: readonly Observer[], source: PrefixSource | undefined) {
  return { observers: () => observers, plugins: () => new Map(), prefixSource: () => source };
}
