import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { Clock } from '../../framework/runtime.ts';
import { guardCredentials } from '../../runtime/network/client/guarded-credentials.ts';
import { boundAnswers } from './bounded-agent.ts';
import type { TracingPlan } from './tracing-plan.ts';

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

/** OpenTelemetry's own sender, with what the environment says about the connection. */
export async function otlpSender(
  plan: TracingPlan,
  clock: Pick<Clock, 'now'>,
): Promise<OtlpSender> {
  const exporter = await delegateOf(plan, clock);
  return {
    send: (batch) =>
      new Promise((resolve, reject) => {
        exporter.export(batch, ({ code, error }) => {
          if (code === SENT) resolve();
          else reject(error ?? new Error('the collector did not take it'));
        });
      }),
    stop: () => exporter.shutdown().catch(() => undefined),
  };
}

async function delegateOf(
  { protocol, url }: TracingPlan,
  clock: Pick<Clock, 'now'>,
): Promise<IOtlpExportDelegate<Uint8Array>> {
  if (protocol === 'grpc') {
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
  const { convertLegacyHttpOptions, createOtlpHttpExportDelegate } = await import(
    '@opentelemetry/otlp-exporter-base/node-http'
  );
  const headers = { 'content-type': 'application/x-protobuf' };
  const options = convertLegacyHttpOptions({ url }, 'TRACES', 'v1/traces', headers);
  const { agentFactory } = options;
  return createOtlpHttpExportDelegate(
    { ...options, agentFactory: async (...of) => boundAnswers(await agentFactory(...of)) },
    AS_IT_IS,
    'otlp_http_span_exporter',
    UNCOUNTED,
    undefined,
  );
}
