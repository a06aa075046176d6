import { describe, expect, it } from 'vitest';
import { makeEndpoint, makeRequest, makeRouted } from '../../../test/makers.ts';
import { PickerMetrics } from './metrics.ts';
import { requestMetrics } from './request-metrics.ts';

const MP = 'fairness_id="default-flow",model_name="m",priority="0",target_model_name="m"';
const usage = { promptTokens: 600, completionTokens: 11, cachedTokens: 0 };

async function linesOf(metrics: PickerMetrics): Promise<readonly string[]> {
  return (await metrics.page()).split('\n');
}

describe('requestMetrics', () => {
  it('counts a request when it is routed and shows it running until it ends', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    const routed = makeRouted(makeEndpoint('a'), { at: 0 });
    observer.onRouted?.(routed);
    const during = await linesOf(metrics);
    expect(during).toContain(`llm_d_epp_request_total{${MP}} 1`);
    expect(during).toContain(`llm_d_epp_request_running{${MP}} 1`);
    expect(during).toContain('inference_objective_running_requests{model_name="m"} 1');
    observer.onDone?.(routed, 500, 'completed', undefined);
    const after = await linesOf(metrics);
    expect(after).toContain(`llm_d_epp_request_total{${MP}} 1`);
    expect(after).toContain(`llm_d_epp_request_running{${MP}} 0`);
  });

  it('measures from the pick: duration, first token, time per token with and without the first', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    const routed = makeRouted(makeEndpoint('a'), { at: 1000 });
    observer.onRouted?.(routed);
    observer.onFirstToken?.(routed, 1250);
    observer.onDone?.(routed, 2250, 'completed', usage);
    const lines = await linesOf(metrics);
    expect(lines).toContain(`llm_d_epp_request_duration_seconds_sum{${MP}} 1.25`);
    expect(lines).toContain(
      `llm_d_epp_request_ttft_seconds_sum{${MP.replace(',target', ',streaming="true",target')}} 0.25`,
    );
    expect(lines).toContain(`llm_d_epp_request_streaming_tpot_seconds_sum{${MP}} 0.1`);
    expect(lines).toContain(`llm_d_epp_request_ntpot_seconds_sum{${MP}} ${1.25 / 11}`);
  });

  it('records the token counts of the model server, zero only for cached ones', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    for (const each of [usage, { promptTokens: 0, completionTokens: 0, cachedTokens: undefined }]) {
      const routed = makeRouted(makeEndpoint('a'), { at: 0 });
      observer.onRouted?.(routed);
      observer.onDone?.(routed, 100, 'completed', each);
    }
    const lines = await linesOf(metrics);
    expect(lines).toContain(`llm_d_epp_request_input_tokens_count{${MP}} 1`);
    expect(lines).toContain(`llm_d_epp_request_output_tokens_count{${MP}} 1`);
    expect(lines).toContain(`llm_d_epp_request_cached_tokens_count{${MP}} 1`);
    expect(lines).toContain(`llm_d_epp_request_cached_tokens_sum{${MP}} 0`);
  });

  it('gives the size of the whole body, however early the pick was', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ bodyBytes: 100 }) });
    observer.onRouted?.(routed);
    observer.onBodyRead?.(routed, makeRequest({ bodyBytes: 7000 }));
    observer.onDone?.(routed, 20_000, 'completed', undefined);
    expect(await linesOf(metrics)).toContain(`llm_d_epp_request_size_bytes_sum{${MP}} 7000`);
  });

  it('counts failed and aborted requests as errors and keeps them out of the durations', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    for (const outcome of ['failed', 'aborted'] as const) {
      const routed = makeRouted(makeEndpoint('a'), { at: 0 });
      observer.onRouted?.(routed);
      observer.onDone?.(routed, 100, outcome, undefined);
    }
    const page = await metrics.page();
    for (const code of ['ModelServerError', 'ClientClosed']) {
      expect(page).toContain(`llm_d_epp_request_error_total{error_code="${code}",${MP}} 1\n`);
    }
    expect(page).not.toContain('llm_d_epp_request_duration_seconds_count');
  });

  it('ignores calls about requests it was never told of, or told the end of', async () => {
    const metrics = new PickerMetrics();
    const observer = requestMetrics(metrics);
    const routed = makeRouted(makeEndpoint('a'), { at: 0 });
    observer.onFirstToken?.(routed, 1);
    observer.onDone?.(routed, 1, 'completed', undefined);
    observer.onRouted?.(routed);
    observer.onDone?.(routed, 2, 'completed', undefined);
    observer.onDone?.(routed, 3, 'completed', undefined);
    expect(await linesOf(metrics)).toContain(`llm_d_epp_request_running{${MP}} 0`);
  });
});
