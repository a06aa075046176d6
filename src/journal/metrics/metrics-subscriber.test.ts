import { describe, expect, it } from 'vitest';
import {
  makeContext,
  makeDecision,
  makeEndpoint,
  makeRequest,
  makeRouted,
} from '../../../test/makers.ts';
import { RoutingError } from '../../framework/error.ts';
import type { ProfileResult } from '../../framework/scheduling.ts';
import type { DecisionEvent } from '../../picker/events/journal.ts';
import { PickerMetrics } from './metrics.ts';
import { metricsSubscriber } from './metrics-subscriber.ts';
import { OPEN_METRICS } from './page/page-format.ts';

const MP = 'fairness_id="default-flow",model_name="m",priority="0",target_model_name="m"';
const usage = { promptTokens: 600, completionTokens: 11, cachedTokens: 0 };

function decided(
  primary: ProfileResult | undefined,
  fields: Partial<DecisionEvent> = {},
): DecisionEvent {
  const request = makeRequest();
  const decision = primary && { primary, headers: new Map(), profiles: [primary] };
  return makeDecision({
    request,
    context: makeContext({ request }),
    decision,
    durationMs: 3,
    ...fields,
  });
}

async function linesOf(metrics: PickerMetrics): Promise<readonly string[]> {
  return (await metrics.page()).split('\n');
}

describe('metricsSubscriber', () => {
  it('counts a request when it is routed and shows it running until it ends', async () => {
    const metrics = new PickerMetrics({ deprecated: true });
    const observer = metricsSubscriber(metrics);
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

  it('[O175] names the trace of a request at its four times, and nowhere else', async () => {
    const metrics = new PickerMetrics();
    const seen = { traceId: 'c'.repeat(32), wallTime: 1_700_000_000_000 };
    const observer = metricsSubscriber(metrics, () => seen);
    const request = makeRequest({ streaming: true });
    const routed = makeRouted(makeEndpoint('a'), { at: 0, request });
    observer.onRouted?.(routed);
    observer.onFirstToken?.(routed, 250);
    observer.onToken?.(routed, 300);
    observer.onDone?.(routed, 500, 'completed', usage);
    const page = await metrics.page(OPEN_METRICS);
    const named = page.split('\n').filter((line) => line.includes(seen.traceId));
    expect(named.map((line) => line.replace(/\{.*# .* /, ' '))).toEqual([
      'llm_d_epp_request_duration_seconds_bucket 1700000000',
      'llm_d_epp_request_ttft_seconds_bucket 1700000000',
      'llm_d_epp_request_ntpot_seconds_bucket 1700000000',
      'llm_d_epp_request_streaming_tpot_seconds_bucket 1700000000',
    ]);
  });

  it('measures the time between two pieces of a stream', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
    const routed = makeRouted(makeEndpoint('a'), { at: 1000 });
    observer.onRouted?.(routed);
    observer.onFirstToken?.(routed, 1250);
    for (const at of [1500, 1750]) observer.onToken?.(routed, at);
    const lines = await linesOf(metrics);
    expect(lines).toContain(`llm_d_epp_request_streaming_itl_seconds_sum{${MP}} 0.5`);
    expect(lines).toContain(`llm_d_epp_request_streaming_itl_seconds_count{${MP}} 2`);
  });

  it('measures from the pick: duration, first token, time per token with and without the first', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
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
    const observer = metricsSubscriber(metrics);
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
    const observer = metricsSubscriber(metrics);
    const routed = makeRouted(makeEndpoint('a'), { request: makeRequest({ bodyBytes: 100 }) });
    observer.onRouted?.(routed);
    observer.onBodyRead?.(routed, makeRequest({ bodyBytes: 7000 }));
    observer.onDone?.(routed, 20_000, 'completed', undefined);
    expect(await linesOf(metrics)).toContain(`llm_d_epp_request_size_bytes_sum{${MP}} 7000`);
  });

  it('[D493] counts failed requests as errors, and aborted ones apart, and neither in durations', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
    for (const outcome of ['failed', 'aborted'] as const) {
      const routed = makeRouted(makeEndpoint('a'), { at: 0 });
      observer.onRouted?.(routed);
      observer.onDone?.(routed, 100, outcome, undefined);
    }
    const page = await metrics.page();
    const errors = page.split('\n').filter((line) => line.startsWith('llm_d_epp_request_error'));
    expect(errors).toEqual([
      `llm_d_epp_request_error_total{error_code="ModelServerError",${MP}} 1`,
    ]);
    expect(page).toContain(`pointsman_aborted_requests_total{${MP}} 1\n`);
    expect(page).not.toContain('llm_d_epp_request_duration_seconds_count');
  });

  it('ignores events of requests that were not routed, or have ended', async () => {
    const metrics = new PickerMetrics();
    const observer = metricsSubscriber(metrics);
    const routed = makeRouted(makeEndpoint('a'), { at: 0 });
    observer.onFirstToken?.(routed, 1);
    observer.onDone?.(routed, 1, 'completed', undefined);
    observer.onRouted?.(routed);
    observer.onDone?.(routed, 2, 'completed', undefined);
    observer.onDone?.(routed, 3, 'completed', undefined);
    expect(await linesOf(metrics)).toContain(`llm_d_epp_request_running{${MP}} 0`);
  });

  it('[D462] counts decisions by their outcome, the pod and the port picked, and times them', async () => {
    const metrics = new PickerMetrics();
    const { onDecision } = metricsSubscriber(metrics);
    const targets = [{ endpoint: makeEndpoint('ns/pod-1-rank-0'), score: 1 }];
    onDecision?.(decided({ kind: 'picked', profile: 'p', targets }));
    onDecision?.(decided({ kind: 'exhausted', profile: 'p', candidates: 1 }));
    onDecision?.(decided(undefined, { error: new RangeError('scorer x gave 2, not in [0, 1]') }));
    const page = await metrics.page();
    expect(page).toContain(
      'llm_d_epp_scheduler_attempts_total{endpoint_name="pod-1",namespace="ns",port="8000",status="success",target_model_name="m"} 1\n',
    );
    expect(page).toContain(
      'llm_d_epp_scheduler_attempts_total{endpoint_name="",namespace="",port="",status="failure",target_model_name="m"} 2\n',
    );
    expect(page).toContain('llm_d_epp_scheduler_e2e_duration_seconds_count 3\n');
    expect(page).toMatch(/scheduler_e2e_duration_seconds_sum 0\.009/);
  });

  it('counts no attempt where there was no candidate, and no time where none was measured', async () => {
    const metrics = new PickerMetrics();
    const { onDecision } = metricsSubscriber(metrics);
    onDecision?.(decided(undefined, { context: undefined, durationMs: undefined }));
    const exhausted: ProfileResult = { kind: 'exhausted', profile: 'p', candidates: 1 };
    onDecision?.(decided(exhausted, { durationMs: undefined }));
    const page = await metrics.page();
    expect(page).toMatch(/scheduler_attempts_total\{.*status="failure".*\} 1\n/);
    expect(page).not.toContain('scheduler_e2e_duration_seconds_count');
  });

  it.each([
    ['shed', 0],
    ['saturated', 0],
    ['no-endpoints', 0],
    ['not-cached', 0],
    ['unknown-profile', 1],
  ] as const)('[D510] a request refused as %s makes %i attempts', async (code, attempts) => {
    const metrics = new PickerMetrics();
    const { onDecision } = metricsSubscriber(metrics);
    onDecision?.(decided(undefined, { error: new RoutingError(code, 'not now') }));
    const page = await metrics.page();
    expect(page.match(/scheduler_attempts_total\{.*status="failure"/g)?.length ?? 0).toBe(attempts);
    expect(page.includes('scheduler_e2e_duration_seconds_count 1')).toBe(attempts === 1);
  });

  it('times how long requests wait for what their decision needs', async () => {
    const metrics = new PickerMetrics();
    const { onPrepared } = metricsSubscriber(metrics);
    onPrepared?.(makeRequest(), 40);
    const lines = await linesOf(metrics);
    expect(lines).toContain('pointsman_prepare_duration_seconds_sum 0.04');
    expect(lines).toContain('pointsman_prepare_duration_seconds_count 1');
  });

  it('takes the counts of an endpoint that has gone off the page', async () => {
    const metrics = new PickerMetrics();
    const endpoint = makeEndpoint('pod-1');
    const subscriber = metricsSubscriber(metrics);
    const targets = [{ endpoint, score: 1 }];
    subscriber.onDecision?.(decided({ kind: 'picked', profile: 'p', targets }));
    expect(await metrics.page()).toContain('pod-1');
    subscriber.onEndpointRemoved?.(endpoint);
    expect(await metrics.page()).not.toContain('pod-1');
  });
});
