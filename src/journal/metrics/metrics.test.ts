import { describe, expect, it, test } from 'vitest';
import { makeRequest } from '../../../test/makers.ts';
import { PickerMetrics } from './metrics.ts';

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
      pointsman_aborted_requests_total: 'counter',
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
