import { join } from 'node:path';
import {
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  type ClientDuplexStream,
  type ClientWritableStream,
  credentials,
  loadPackageDefinition,
  type ServiceClientConstructor,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { packageFile } from '../files/folders.ts';
import type { Clock, Millis } from '../framework/runtime.ts';
import { guardCredentials } from '../runtime/network/client/guarded-credentials.ts';
import { whenStuck } from '../runtime/network/client/when-stuck.ts';
import type { HeaderMutation, WireHeader } from './header-mutation.ts';

type OfHalves<Part extends string, T> = {
  readonly [name in `${'request' | 'response'}_${Part}`]?: T;
};

interface WireHeaders {
  readonly headers: readonly WireHeader[];
}

/** A message of the data plane: one of the fields, and `protocol_config` in the first. */
export type ProcessingRequest = OfHalves<
  'headers',
  { readonly headers: WireHeaders; readonly end_of_stream: boolean }
> &
  OfHalves<'body', { readonly body: Buffer; readonly end_of_stream: boolean }> &
  OfHalves<'trailers', { readonly trailers: WireHeaders }> & {
    readonly metadata_context?: unknown;
    readonly protocol_config?: OfHalves<'body_mode', 'FULL_DUPLEX_STREAMED'>;
  };

interface CommonAnswer {
  readonly response?: {
    readonly header_mutation?: HeaderMutation;
    readonly body_mutation?: {
      readonly streamed_response?: { readonly body?: Buffer; readonly end_of_stream?: boolean };
    };
  };
}

/** An answer of the picker: one of the fields. Fields with default values are absent. */
export interface ProcessingResponse
  extends OfHalves<'headers' | 'body', CommonAnswer>,
    OfHalves<'trailers', unknown> {
  readonly immediate_response?: {
    readonly status?: { readonly code?: number };
    readonly headers?: HeaderMutation;
    readonly body?: Buffer;
  };
}

export type ExtProcStream = ClientDuplexStream<ProcessingRequest, ProcessingResponse>;

/** The part of an entry of Envoy's access log that the picker reads. */
export interface AccessLogMessage {
  readonly identifier: { readonly log_name: string };
  readonly http_logs: {
    readonly log_entry: readonly {
      readonly common_properties: {
        readonly response_flags: { readonly upstream_connection_termination: boolean };
      };
      readonly request: { readonly request_id: string };
    }[];
  };
}

export type AccessLogCall = Pick<
  ClientWritableStream<AccessLogMessage>,
  'write' | 'end' | 'cancel'
>;

export interface ExtProcClient {
  /** Opens the stream of one HTTP request. */
  process(): ExtProcStream;
  /**
   * Opens a call of the access log, on the connection of the streams. `onOver` is called once,
   * later: when the picker has answered, or has failed, or the call is cancelled.
   */
  accessLog(onOver: () => void): AccessLogCall;
  close(): void;
}

interface ExtProcClientOptions {
  /** `host:port`. */
  readonly address: string;
  /** Use TLS, without verification, as pickers may have self-signed certificates. */
  readonly tls: boolean;
  readonly clock: Clock;
}

/**
 * Where packets are lost, gRPC waits for one connection until the system gives it up, after two
 * minutes, and after the packets pass again for as long as they were lost.
 */
const CONNECT_MS: Millis = 5000;
/** A picker answers each piece of each answer with a frame, for all requests on one connection. */
const FRAMES = { perSecond: 200_000, atOnce: 100_000 };

/**
 * A stream whose connection ends before the picker has begun to answer is sent once more: such as
 * where this process stood still, and the picker has closed the connection meanwhile. gRPC keeps
 * the first 1 MiB of a stream for that, and no more than 16 MiB in all. Where it learns of the end
 * by writing (EPIPE), it calls it INTERNAL.
 */
const AGAIN = JSON.stringify({
  methodConfig: [
    {
      name: [{}],
      retryPolicy: {
        maxAttempts: 2,
        initialBackoff: '0.01s',
        maxBackoff: '0.01s',
        backoffMultiplier: 1,
        retryableStatusCodes: ['UNAVAILABLE', 'INTERNAL'],
      },
    },
  ],
});

/** The name in self-signed certificates; by default gRPC sends the address, which TLS forbids. */
const SSL: ChannelOptions = { 'grpc.ssl_target_name_override': 'pointsman' };

/** The data plane's side of ext_proc, with the package's proto files. Connects when first used. */
export function createExtProcClient({ address, tls, clock }: ExtProcClientOptions): ExtProcClient {
  const services = [
    serviceOf(
      'ext_proc/v3/external_processor.proto',
      'envoy.service.ext_proc.v3.ExternalProcessor',
    ),
    serviceOf('accesslog/v3/als.proto', 'envoy.service.accesslog.v3.AccessLogService'),
  ] as const;
  const transport = tls
    ? { channel: credentials.createSsl(null, null, null, { rejectUnauthorized: false }), own: SSL }
    : { channel: credentials.createInsecure(), own: {} };
  const guarded = { ...transport, channel: guardCredentials(transport.channel, clock, FRAMES) };
  let client = connectTo(address, services, guarded);
  /** Requests that wait for a connection fail with it, and later ones try another. */
  const renew = (): void => {
    client.close();
    client = connectTo(address, services, guarded);
    whenStuck(client.getChannel(), { clock, limitMs: CONNECT_MS }, renew);
  };
  whenStuck(client.getChannel(), { clock, limitMs: CONNECT_MS }, renew);
  return {
    process: () => client.process(),
    accessLog: (onOver) => client.accessLog(onOver),
    close: () => client.close(),
  };
}

/** A service of the package's proto files, by its full name. */
function serviceOf(file: string, fullName: string): ServiceClientConstructor {
  const folder = packageFile('proto');
  const options = { keepCase: true, enums: String, includeDirs: [folder] };
  const loaded: unknown = loadPackageDefinition(
    loadSync(join(folder, 'envoy/service', file), options),
  );
  const found = fullName
    .split('.')
    .reduce((at, name) => (at as Readonly<Record<string, unknown>>)[name], loaded);
  return found as ServiceClientConstructor;
}

type Connected = ExtProcClient & Pick<Client, 'getChannel'>;

interface GrpcTransport {
  readonly channel: ChannelCredentials;
  /** Options that it needs itself. */
  readonly own: ChannelOptions;
}

function connectTo(
  address: string,
  [Processor, AccessLog]: readonly [ServiceClientConstructor, ServiceClientConstructor],
  { channel, own }: GrpcTransport,
): Connected {
  const processor = new Processor(address, channel, {
    'grpc.max_receive_message_length': -1,
    'grpc.service_config': AGAIN,
    ...own,
    // Reconnects to a restarted picker after at most a second; grpc-js's default is two minutes.
    'grpc.max_reconnect_backoff_ms': 1_000,
    // A picker whose host has vanished is noticed after 15 s.
    'grpc.keepalive_time_ms': 10_000,
    'grpc.keepalive_timeout_ms': 5_000,
    // A client that is made anew would get the connection that is stuck.
    'grpc.use_local_subchannel_pool': 1,
  }) as unknown as Client & { Process(): ExtProcStream };
  const log = new AccessLog(address, channel, {
    channelOverride: processor.getChannel(),
  }) as unknown as { StreamAccessLogs(onOver: () => void): ClientWritableStream<AccessLogMessage> };
  return {
    process: () => processor.Process(),
    // Writing to a call that has failed is an error of its own; `onOver` follows in any case.
    accessLog: (onOver) => log.StreamAccessLogs(onOver).on('error', () => undefined),
    getChannel: () => processor.getChannel(),
    close: () => processor.close(),
  };
}
