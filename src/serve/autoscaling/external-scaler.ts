import {
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type sendUnaryData,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageFile } from '../../files/folders.ts';
import { messageOf } from '../../framework/error.ts';
import type { Clock } from '../../framework/runtime.ts';
import type { Headroom } from '../../journal/headroom/headroom.ts';
import { HEADROOM_STAGES } from '../../journal/headroom/headroom-report.ts';
import { ListenError } from '../../runtime/network/server/listen.ts';
import { ActiveWatch } from './active-watch.ts';

const PROTO = 'proto/keda/externalscaler.proto';
const STAGES: readonly string[] = HEADROOM_STAGES;
/** KEDA sends names and a few settings. */
const MESSAGE_BYTES_MAX = 64 * 1024;
/** A cluster has one KEDA, with a connection and a stream for each of its objects. */
const STREAMS_MAX = 256;
const CONNECTION_STREAMS_MAX = 100;
/** The connection of a client whose host is gone ends after both of these times. */
const PING_MS = 20_000;
const PING_TIMEOUT_MS = 10_000;
/** The most characters that an error repeats of a name from a client. */
const NAME_SHOWN = 64;

interface ScaledObjectRef {
  readonly scalerMetadata?: Readonly<Record<string, string>>;
}

interface MetricsRequest {
  readonly scaledObjectRef?: ScaledObjectRef | null;
}

type Asked = { readonly stage: string; readonly metricName: string };

export interface ExternalScalerOptions {
  readonly host: string;
  /** 0 for a free one. */
  readonly port: number;
  readonly headroom: Headroom;
  readonly clock: Clock;
}

/**
 * KEDA's external scaler, without TLS: one metric, the replicas that are wanted, with the target 1,
 * so that the autoscaler makes as many, within its tolerance. `stage` in the metadata of the
 * trigger names the servers: `prefill`, `decode`, or left out for all. Throws ListenError.
 */
export async function startExternalScaler(
  options: ExternalScalerOptions,
): Promise<{ readonly port: number; stop(): void }> {
  const { headroom, clock, host } = options;
  const watch = new ActiveWatch(() => headroom.report().active, clock);
  const server = new Server({
    'grpc.max_receive_message_length': MESSAGE_BYTES_MAX,
    'grpc.max_concurrent_streams': CONNECTION_STREAMS_MAX,
    'grpc.keepalive_time_ms': PING_MS,
    'grpc.keepalive_timeout_ms': PING_TIMEOUT_MS,
  });
  server.addService(scalerService(), callsOf(headroom, watch));
  const address = `${host.includes(':') ? `[${host}]` : host}:${options.port}`;
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(address, ServerCredentials.createInsecure(), (error, bound) => {
      if (error === null) resolve(bound);
      else reject(new ListenError(address, error));
    });
  });
  return { port, stop: () => server.forceShutdown() };
}

/** The service of the proto file. */
function scalerService(): ServiceClientConstructor['service'] {
  const loaded = loadPackageDefinition(
    loadSync(packageFile(PROTO), { keepCase: true, longs: Number, defaults: true }),
  );
  const { ExternalScaler } = loaded['externalscaler'] as unknown as {
    readonly ExternalScaler: ServiceClientConstructor;
  };
  return ExternalScaler.service;
}

/** What the picker answers to each call of KEDA. */
function callsOf(headroom: Headroom, watch: ActiveWatch): UntypedServiceImplementation {
  return {
    IsActive: unary<ScaledObjectRef>((ref) => {
      askedOf(ref);
      return { result: headroom.report().active };
    }),
    StreamIsActive: (call: ServerWritableStream<ScaledObjectRef, object>) =>
      streamActive(call, watch),
    GetMetricSpec: unary<ScaledObjectRef>((ref) => ({
      metricSpecs: [{ metricName: askedOf(ref).metricName, targetSize: 1, targetSizeFloat: 1 }],
    })),
    GetMetrics: unary<MetricsRequest>(({ scaledObjectRef }) => {
      const { stage, metricName } = askedOf(scaledObjectRef ?? {});
      const { stages } = headroom.report();
      const found = stages.find((each) => each.stage === stage);
      if (found === undefined) throw new Error(absence(stage, stages));
      const value = found.desiredReplicas;
      return { metricValues: [{ metricName, metricValue: value, metricValueFloat: value }] };
    }),
  };
}

/** What a trigger asks for. Throws an Error that lists the stages where it names another one. */
function askedOf({ scalerMetadata = {} }: ScaledObjectRef): Asked {
  const { stage = 'all' } = scalerMetadata;
  if (!STAGES.includes(stage)) {
    throw new Error(
      `stage ${stage.slice(0, NAME_SHOWN)} is not known; it is one of ${STAGES.join(', ')}`,
    );
  }
  return { stage, metricName: `pointsman-desired-replicas-${stage}` };
}

/** What to write for a stage that the pool does not have now. */
function absence(stage: string, present: readonly { readonly stage: string }[]): string {
  const names = present.map((each) => each.stage).join(', ');
  const wanted = present.length === 1 ? 'that' : 'one of them';
  return `the pool has no stage ${stage}, it has ${names}: name ${wanted} in the trigger`;
}

function unary<Q>(answer: (asked: Q) => object) {
  return ({ request }: ServerUnaryCall<Q, object>, reply: sendUnaryData<object>): void => {
    let answered: object;
    try {
      answered = answer(request);
    } catch (error) {
      reply({ code: status.INVALID_ARGUMENT, details: messageOf(error) });
      return;
    }
    reply(null, answered);
  };
}

/** Says at once whether the pool is active, and again with each change. */
function streamActive(
  call: ServerWritableStream<ScaledObjectRef, object>,
  watch: ActiveWatch,
): void {
  // A client that goes away is no error.
  call.on('error', () => undefined);
  if (watch.count >= STREAMS_MAX) {
    const details = `${STREAMS_MAX} streams are open already`;
    call.emit('error', { code: status.RESOURCE_EXHAUSTED, details });
    return;
  }
  const end = watch.follow((active) => void call.write({ result: active }));
  call.on('cancelled', end);
  call.on('close', end);
}
