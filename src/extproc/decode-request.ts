import { decodeMetadata } from './decode-metadata.ts';
import { HeaderBlock } from './header-block.ts';
import type { LoadBalancerMetadata, ProtocolConfig, StreamEvent } from './stream-event.ts';
import { WireReader } from './wire-reader.ts';

const EMPTY: Buffer = Buffer.alloc(0);

interface Parts {
  kind: StreamEvent['kind'];
  message: Buffer;
  metadata: LoadBalancerMetadata | undefined;
  observing: boolean;
  protocol: ProtocolConfig | undefined;
}

const KINDS: readonly (StreamEvent['kind'] | undefined)[] = [
  undefined,
  undefined,
  'request-headers',
  'response-headers',
  'request-body',
  'response-body',
  'request-trailers',
  'response-trailers',
];

/**
 * One ProcessingRequest to an event. Body chunks are views into `bytes`, headers are read when asked for.
 * Throws RangeError when the bytes are not a protobuf message.
 */
export function decodeRequest(bytes: Buffer): StreamEvent {
  const parts: Parts = {
    kind: 'unknown',
    message: EMPTY,
    metadata: undefined,
    observing: false,
    protocol: undefined,
  };
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    const kind = KINDS[field];
    if (kind !== undefined) {
      parts.kind = kind;
      parts.message = reader.bytes();
    } else if (field === 8) parts.metadata = decodeMetadata(reader.bytes());
    else if (field === 10) parts.observing = reader.bool();
    else if (field === 11) parts.protocol = decodeProtocol(reader.bytes());
    else reader.skip();
  }
  return eventOf(parts);
}

function eventOf({ kind, message, metadata, observing, protocol }: Parts): StreamEvent {
  const common = {
    ...(metadata !== undefined && { metadata }),
    ...(observing && { observing }),
    ...(protocol !== undefined && { protocol }),
  };
  switch (kind) {
    case 'request-headers':
    case 'response-headers': {
      const { payload, endOfStream } = decodeHalf(message, 3);
      return { ...common, kind, headers: new HeaderBlock(payload), endOfStream };
    }
    case 'request-body':
    case 'response-body': {
      const { payload, endOfStream } = decodeHalf(message, 2);
      return { ...common, kind, chunk: payload, endOfStream };
    }
    default:
      return { ...common, kind };
  }
}

/** HttpHeaders and HttpBody alike: bytes in field 1, `end_of_stream` in another. */
function decodeHalf(
  bytes: Buffer,
  endField: number,
): { readonly payload: Buffer; readonly endOfStream: boolean } {
  let payload = EMPTY;
  let endOfStream = false;
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) payload = reader.bytes();
    else if (field === endField) endOfStream = reader.bool();
    else reader.skip();
  }
  return { payload, endOfStream };
}

function decodeProtocol(bytes: Buffer): ProtocolConfig {
  let requestBodyMode = 0;
  let responseBodyMode = 0;
  let sendsBodyWithoutWaiting = false;
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) requestBodyMode = reader.uint32();
    else if (field === 2) responseBodyMode = reader.uint32();
    else if (field === 3) sendsBodyWithoutWaiting = reader.bool();
    else reader.skip();
  }
  return { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting };
}
