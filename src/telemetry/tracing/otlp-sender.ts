import type { IOtlpExportDelegate } from '@opentelemetry/otlp-exporter-base';
import type { Clock } from '../../framework/runtime.ts';
import { boundAnswers } from '../../runtime/network/client/bounded-agent.ts';
import { guardCredentials } from '../../runtime/network/client/guarded-credentials.ts';
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
        throw error;
      }
    },
    stop,
  };
}

function exported(exporter: Exporter, batch: Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    exporter.export(batch, ({ code, error }) => {
      if (code === SENT) resolve();
      else reject(error ?? new Error('the collector did not take it'));
    });
  });
}

async function delegateOf(
  { protocol, url }: TracingPlan,
  clock: Pick<Clock, 'now'>,
): Promise<Exporter> {
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
