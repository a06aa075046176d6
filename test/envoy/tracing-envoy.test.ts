import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Document } from 'yaml';
import { envoyBinary, eventually, type Stack, startStack } from '../../bench/support/stack.ts';
import { CONNECTION_MANAGER } from '../../src/lab/envoy/render-config.ts';
import { planTracing, type TracingPlan } from '../../src/telemetry/tracing/tracing-plan.ts';
import {
  type CollectedSpan,
  type Collector,
  fetchCollector,
  startCollector,
} from '../support/servers/otel-collector.ts';
import { startUpstream, type Upstream } from '../support/servers/upstream.ts';

/** Traces of requests through a real Envoy, as a real OpenTelemetry collector gets them. */

const envoy = await envoyBinary();
const otelcol = await fetchCollector();
/** Envoy samples only requests whose id is one. */
const UUID = '3e1f9a52-7c04-4d8b-9a61-5b2c8d7e0f13';
const PARENT = 'aaaaaaaaaaaaaaaa';
const PHASES = [
  'read_request',
  'gateway.request_orchestration',
  'wait_for_first_token',
  'receive_response',
];

function plan(collector: Collector, protocol: TracingPlan['protocol'], more = {}): TracingPlan {
  const url = protocol === 'grpc' ? collector.grpcUrl : collector.httpUrl;
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: url,
    OTEL_EXPORTER_OTLP_PROTOCOL: protocol,
    OTEL_BSP_SCHEDULE_DELAY: '20',
    ...more,
  };
  const read = planTracing(environment);
  if (read === undefined) throw new Error('traces are switched off');
  return read;
}

/** Envoy sends traces of its own to the same collector, all of them. */
function tracedBy(port: string): (config: Document) => void {
  return (config) => {
    const socket = { address: '127.0.0.1', port_value: Number(port) };
    config.addIn(['static_resources', 'clusters'], {
      name: 'otel',
      type: 'STATIC',
      connect_timeout: '5s',
      typed_extension_protocol_options: {
        'envoy.extensions.upstreams.http.v3.HttpProtocolOptions': {
          '@type': 'type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions',
          explicit_http_config: { http2_protocol_options: {} },
        },
      },
      load_assignment: {
        cluster_name: 'otel',
        endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: socket } } }] }],
      },
    });
    config.setIn([...CONNECTION_MANAGER, 'tracing'], {
      provider: {
        name: 'envoy.tracers.opentelemetry',
        typed_config: {
          '@type': 'type.googleapis.com/envoy.config.trace.v3.OpenTelemetryConfig',
          grpc_service: { envoy_grpc: { cluster_name: 'otel' } },
          service_name: 'envoy',
        },
      },
    });
  };
}

describe.skipIf(envoy === undefined || otelcol === undefined)('traces behind Envoy', () => {
  let collector: Collector;
  let upstream: Upstream;
  const stacks: Stack[] = [];
  let traces = 0;

  beforeAll(async () => {
    collector = await startCollector(otelcol ?? '');
    upstream = await startUpstream();
  });
  afterAll(async () => {
    for (const stack of stacks) await stack.stop();
    await upstream?.stop();
    await collector?.stop();
  });

  async function start(tracing: TracingPlan, edit?: (config: Document) => void): Promise<Stack> {
    const endpoints = [upstream.address];
    const own = { envoy: 'envoy', endpoints, serve: { tracing } } as const;
    const stack = await startStack(envoy ?? '', edit === undefined ? own : { ...own, edit });
    stacks.push(stack);
    return stack;
  }

  const newTraceId = (): string => (++traces).toString(16).padStart(32, '1');

  function ask(stack: Stack, headers: Readonly<Record<string, string>>, body: string) {
    return fetch(`${stack.url}/v1/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-request-id': 'r-1', ...headers },
      body,
    });
  }

  /** The spans of the picker once the whole request is among them. */
  async function spansOf(traceId: string): Promise<readonly CollectedSpan[]> {
    return eventually(
      () =>
        collector.spans.filter(
          (span) => span.traceId === traceId && span.resource['service.name'] === 'pointsman',
        ),
      (spans) => spans.some(({ name }) => name === 'gateway.request'),
    );
  }

  const BODY = JSON.stringify({ model: 'm', prompt: 'hello' });

  test.each(['grpc', 'http/protobuf'] as const)(
    '[O81] [O82] a request has one span a phase below the caller’s, by %s, and the endpoint gets the context',
    async (protocol) => {
      const stack = await start(plan(collector, protocol));
      const traceId = newTraceId();
      const headers = { traceparent: `00-${traceId}-${PARENT}-01`, tracestate: 'vendor=1' };
      const before = upstream.received.length;
      expect((await ask(stack, headers, BODY)).status).toBe(200);
      const spans = await spansOf(traceId);
      const whole = spans.find(({ name }) => name === 'gateway.request');
      expect(whole).toMatchObject({
        parentSpanId: PARENT,
        kind: 2,
        traceState: 'vendor=1',
        attributes: {
          'gen_ai.request.id': 'r-1',
          'gen_ai.request.model': 'm',
          'http.response.status_code': 200,
          'pointsman.endpoint.address': upstream.address,
          'pointsman.outcome': 'completed',
        },
      });
      const children = spans.filter(({ parentSpanId }) => parentSpanId === whole?.spanId);
      expect(children.map(({ name }) => name)).toEqual(PHASES);
      const decided = children.find(({ name }) => name === 'gateway.request_orchestration');
      const profile = spans.find(({ name }) => name === 'run_scheduler_profile');
      expect(profile?.parentSpanId).toBe(decided?.spanId);
      expect(profile?.attributes).toMatchObject({
        'llm_d.epp.scheduling.profile.name': 'default',
        'llm_d.epp.filter.candidate_endpoints': 1,
        'llm_d.epp.picker.top_endpoints': [`default/${upstream.address}`],
      });
      for (const { startNanos, endNanos } of spans) {
        expect(startNanos >= (whole?.startNanos ?? 0n)).toBe(true);
        expect(endNanos <= (whole?.endNanos ?? 0n)).toBe(true);
        expect(endNanos >= startNanos).toBe(true);
      }
      const [sent] = upstream.received.slice(before);
      expect(sent?.headers['traceparent']).toBe(`00-${traceId}-${whole?.spanId}-01`);
      expect(sent?.headers['tracestate']).toBe('vendor=1');
    },
  );

  test('[O83] without a caller’s decision the ratio decides; a failure is written in any case', async () => {
    const stack = await start(plan(collector, 'grpc', { OTEL_TRACES_SAMPLER_ARG: '0' }));
    const unsampled = newTraceId();
    await (await ask(stack, { traceparent: `00-${unsampled}-${PARENT}-00` }, BODY)).text();
    const failed = newTraceId();
    const refused = await ask(stack, { traceparent: `00-${failed}-${PARENT}-00` }, '{"model":');
    expect(refused.status).toBe(400);
    const [span] = (await spansOf(failed)).filter(({ name }) => name === 'gateway.request');
    expect(span?.status.code).toBe(2);
    expect(span?.attributes).toMatchObject({
      'error.type': 'invalid-request',
      'http.response.status_code': 400,
    });
    expect(collector.spans.filter(({ traceId }) => traceId === unsampled)).toEqual([]);
  });

  test('[O84] where Envoy traces, its call to the picker is the parent', async () => {
    const port = new URL(collector.grpcUrl).port;
    const stack = await start(plan(collector, 'grpc'), tracedBy(port));
    const traceId = newTraceId();
    const headers = { traceparent: `00-${traceId}-${PARENT}-01`, 'x-request-id': UUID };
    expect((await ask(stack, headers, BODY)).status).toBe(200);
    const whole = (await spansOf(traceId)).find(({ name }) => name === 'gateway.request');
    const envoys = await eventually(
      () =>
        collector.spans.filter(
          (span) => span.traceId === traceId && span.resource['service.name'] === 'envoy',
        ),
      (spans) => spans.some(({ spanId }) => spanId === whole?.parentSpanId),
    );
    const call = envoys.find(({ spanId }) => spanId === whole?.parentSpanId);
    expect(call?.name).toContain('ExternalProcessor');
    // Its own span, below the client's, is the parent of both: of this call and of the endpoint's.
    const own = envoys.find(({ parentSpanId }) => parentSpanId === PARENT);
    expect(call?.parentSpanId).toBe(own?.spanId);
    const sent = upstream.received.at(-1)?.headers['traceparent'];
    expect(sent).toBe(`00-${traceId}-${own?.spanId}-01`);
  });
});
