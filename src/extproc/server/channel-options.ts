import type { ServerOptions } from '@grpc/grpc-js';
import type { ServerLimits } from './server-limits.ts';

/** Room for the message around a body of the largest size. */
const MESSAGE_OVERHEAD_BYTES = 64 * 1024;

/** The largest message that is taken. */
export function receivedBytesMax(bodyBytesMax: number, limits: ServerLimits): number {
  return limits.messageBytesMax ?? bodyBytesMax + MESSAGE_OVERHEAD_BYTES;
}

/** Options of a gRPC server whose messages hold bodies of at most `bodyBytesMax`, unless `limits` say. */
export function channelOptions(bodyBytesMax: number, limits: ServerLimits): ServerOptions {
  return {
    'grpc.max_receive_message_length': receivedBytesMax(bodyBytesMax, limits),
    'grpc.max_send_message_length': limits.sentBytesMax ?? -1,
    // It would count each stream and message for a page that is not served.
    'grpc.enable_channelz': 0,
    // The limit of one connection. All connections together have this limit, too, with an answer that says so.
    'grpc.max_concurrent_streams': limits.streamsMax,
    'grpc.keepalive_time_ms': limits.keepaliveTimeMs,
    'grpc.keepalive_timeout_ms': limits.keepaliveTimeoutMs,
  };
}
