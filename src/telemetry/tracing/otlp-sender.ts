import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import { boundAnswers } from '../../runtime/network/client/bounded-agent.ts';
import { guardCredentials } from '../../runtime/network/client/guarded-credentials.ts';
import { whyNoConnection } from '../../runtime/network/client/no-connection.ts';
import { ANSWERS_IN_HTTP_1 } from '../../runtime/network/client/whole-blocks.ts';
import type { TracingPlan } from './tracing-plan.ts';

type Exporter = Pick<IOtlpExportDelegate<Uint8Array>, 'export' | 'shutdown'>;

export interface OtlpSender {
  /** Sends an `ExportTraceServiceRequest`. Rejects where the collector does not take it. */
  send(batch: Uint8Array): Promise<void>;
  /** Closes the connection. Never rejects. */
  stop(): Promise<void>;
}

/** `ExportResultCode.SUCCESS`. */
const SENT = 0;
const GRPC_METHOD = '/opentelemetry.proto.collector.trace.v1.TraceService/Export';

/** Batches are bytes already, and what a collector answers to those that it takes is not read. */
const AS_IT_IS = {
  serializeRequest: (batch: Uint8Array) => batch,
  deserializeResponse: () => ({}),
};
/** For OpenTelemetry's metrics about itself, which have nowhere to go here. */
const UNCOUNTED = { name: 'span', countItems: () => 0 } as const;

/**
 * OpenTelemetry's own sender, with what the environment says about the connection. It reads the
 * files of certificates and keys once: after a batch that failed, another one reads them again.
 */
export async function otlpSender(
  plan: TracingPlan,
  clock: Pick<Clock, 'now'>,
): Promise<OtlpSender> {
  let exporter = await delegateOf(plan, clock);
  let failed = false;
  const stop = (): Promise<void> => exporter.shutdown().catch(() => undefined);
  return {
    send: async (batch) => {
      if (failed) {
        void stop();
        exporter = await delegateOf(plan, clock);
        failed = false;
      }
      try {
        await exported(exporter, batch);
      } catch (error) {
        failed = true;
        throw withAdvice(error, plan);
      }
    },
    stop,
  };
}

/** The two mistakes of a first day: the other protocol's port, and an address without a path. */
function withAdvice(error: unknown, { protocol, url }: TracingPlan): Error {
  const text = whyNoConnection(messageOf(error)) || messageOf(error);
  const other = (name: TracingPlan['protocol'], port: number): Error =>
    new Error(
      `${text}; ${url} may take OTLP by ${name}, whose usual port is ${port}: ${SETS}${name}`,
    );
  if (protocol === 'grpc') {
    return text.includes(ANSWERS_IN_HTTP_1) ? other('http/protobuf', 4318) : new Error(text);
  }
  if (text.includes(NO_HTTP_1)) return other('grpc', 4317);
  const status = statusOf(error);
  if (status === undefined) return new Error(text);
  const advice = url.endsWith(TRACES_PATH) ? '' : `; most collectors take traces at ${TRACES_PATH}`;
  return new Error(`${url} answered ${status} ${text}${status === 404 ? advice : ''}`);
}

const SETS = 'set OTEL_EXPORTER_OTLP_PROTOCOL=';
const TRACES_PATH = '/v1/traces';
/** How Node's parser begins for an answer that is not of HTTP/1. */
const NO_HTTP_1 = 'Parse Error: Expected HTTP/';

/** The status of HTTP with which a collector refused. */
function statusOf(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}

function exported(exporter: Exporter, batch: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(batch, ({ code, error }) => {
      if (code === SENT) resolve();
      else reject(error ?? new Error('the collector did not take it'));
    });
  });
}

function delegateOf(plan: TracingPlan, clock: Pick<Clock, 'now'>): Promise<Exporter> {
  return plan.protocol === 'grpc' ? grpcDelegate(plan, clock) : httpDelegate(plan);
}

async function grpcDelegate(
  { url }: Pick<TracingPlan, 'url'>,
  clock: Pick<Clock, 'now'>,
): Promise<Exporter> {
  const { convertLegacyOtlpGrpcOptions, createOtlpGrpcExportDelegate } = await import(
    '@opentelemetry/otlp-grpc-exporter-base'
  );
  const { credentials, ...options } = convertLegacyOtlpGrpcOptions({ url }, 'TRACES');
  const guarded = { ...options, credentials: () => guardCredentials(credentials(), clock) };
  const type = 'otlp_grpc_span_exporter';
  const name = 'TraceExportService';
  return createOtlpGrpcExportDelegate(
    guarded,
    AS_IT_IS,
    type,
    UNCOUNTED,
    undefined,
    name,
    GRPC_METHOD,
  );
}

async function httpDelegate({ url }: Pick<TracingPlan, 'url'>): Promise<Exporter> {
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import(
    '@opentelemetry/otlp-exporter-base/node-http'
  );
  const headers = { 'content-type': 'application/x-protobuf' };
  const options = convertLegacyHttpOptions({ url }, 'TRACES', 'v1/traces', headers);
  let agent: { destroy(): void } | undefined;
  const agentFactory: typeof options.agentFactory = async (protocol) => {
    const bounded = boundAnswers(await options.agentFactory(protocol));
    agent = bounded;
    return bounded;
  };
  const delegate = createOtlpHttpExportDelegate(
    { ...options, agentFactory },
    AS_IT_IS,
    'otlp_http_span_exporter',
    UNCOUNTED,
    undefined,
  );
  return {
    export: (...of) => delegate.export(...of),
    // OpenTelemetry leaves its connections open.
    shutdown: async () => {
      agent?.destroy();
      await delegate.shutdown();
    },
  };
}
