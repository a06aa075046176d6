import { cutAnswersIn } from '../../codec/decode-access-log.ts';
import type { Http2Stream, StreamHandler } from '../../http2/stream.ts';
import type { MemoryPool } from '../../streams/memory-pool.ts';
import { endCall, GRPC, type Method, respond } from './grpc.ts';
import { MessageParts } from './message-parts.ts';
import { FramingError, MessageReader } from './message-reader.ts';
import { OpenCalls } from './open-calls.ts';

const STREAM_ACCESS_LOGS = '/envoy.service.accesslog.v3.AccessLogService/StreamAccessLogs';
/** The first message names all extensions of Envoy, some 60 KB; later ones have 16 KB and more. */
const MESSAGE_BYTES_MAX = 256 * 1024;
/** Each thread of an Envoy that has logged something has one. */
const CALLS_MAX = 256;
/** Memory for messages whose end is to come: for the first ones of 100 threads at once. */
const PARTS_BYTES_MAX = 8 * 1024 * 1024;

interface AccessLogOptions {
  readonly blocks: MemoryPool;
  /** The server of the request with this `x-request-id` broke off its answer. */
  readonly onCut: (requestId: string) => void;
}

/**
 * Envoy's access log over gRPC. It alone says which side ended a request: on the ext_proc stream,
 * whose end comes right after the entry, both look the same.
 */
export function accessLogMethods(options: AccessLogOptions): ReadonlyMap<string, Method> {
  const calls = new OpenCalls(CALLS_MAX, 'access log');
  const parts = new MessageParts(PARTS_BYTES_MAX, 'access log');
  const method: Method = (stream) => readLog(stream, parts, options);
  return new Map([[STREAM_ACCESS_LOGS, calls.counted(method)]]);
}

function readLog(
  stream: Http2Stream,
  parts: MessageParts,
  { blocks, onCut }: AccessLogOptions,
): StreamHandler {
  const reader = new MessageReader(MESSAGE_BYTES_MAX, blocks);
  const call = { stream, reader };
  const read = (piece: Buffer): void => {
    reader.push(piece);
    for (let message = reader.next(); message !== undefined; message = reader.next()) {
      const cut = reader.compressed ? [] : cutAnswersIn(message);
      reader.handled('free');
      for (const requestId of cut) onCut(requestId);
    }
  };
  return {
    data: (piece) => {
      try {
        read(piece);
        parts.changed(call);
      } catch (error) {
        if (error instanceof FramingError) endCall(stream, error.status, error.message);
        else if (error instanceof RangeError) endCall(stream, GRPC.internal, error.message);
        else throw error;
      }
      return false;
    },
    // Envoy waits for no answer.
    ended: () => {
      respond(stream);
      endCall(stream, GRPC.ok, '');
    },
    closed: () => parts.closed(call),
  };
}
