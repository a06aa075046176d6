import { FRAME_HEAD_BYTES } from '../../openai/grpc/grpc-frames.ts';
import { decodeMetadata } from './decode-metadata.ts';
import { HeaderBlock } from './header-block.ts';
import type { LoadBalancerMetadata, ProtocolConfig, StreamEvent } from './stream-event.ts';
import { WireReader } from './wire-reader.ts';

const EMPTY: Buffer = Buffer.alloc(0);

/** The event's kind by field number of ProcessingRequest's `request`. */
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

/** The field number of `end_of_stream` by index of KINDS; 0 if the message has none. */
const END_FIELDS: readonly number[] = [0, 0, 3, 3, 2, 2, 0, 0];

/** Body chunks are views; headers are decoded on demand. Throws RangeError for other bytes. */
export function decodeRequest(bytes: Buffer): StreamEvent {
  let kind: StreamEvent['kind'] = 'unknown';
  let payload = EMPTY;
  let endOfStream = false;
  let metadata: LoadBalancerMetadata | undefined;
  let observing = false;
  let protocol: ProtocolConfig | undefined;
  const reader = new WireReader(bytes);
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    const named = KINDS[field];
    if (named !== undefined) {
      kind = named;
      payload = EMPTY;
      endOfStream = false;
      const endField = END_FIELDS[field];
      const outer = reader.enter();
      for (let part = reader.next(); part !== 0; part = reader.next()) {
        if (part === 1) payload = reader.bytes();
        else if (part === endField) endOfStream = reader.bool();
        else reader.skip();
      }
      reader.leave(outer);
    } else if (field === 8) metadata = decodeMetadata(reader);
    else if (field === 10) observing = reader.bool();
    else if (field === 11) protocol = decodeProtocol(reader);
    else reader.skip();
  }
  const wireBytes = FRAME_HEAD_BYTES + bytes.length;
  switch (kind) {
    case 'request-headers':
    case 'response-headers': {
      const headers = new HeaderBlock(payload);
      return { kind, headers, endOfStream, metadata, observing, protocol, wireBytes };
    }
    case 'request-body':
    case 'response-body':
      return { kind, chunk: payload, endOfStream, metadata, observing, protocol, wireBytes };
    case 'response-trailers':
      return { kind, headers: new HeaderBlock(payload), metadata, observing, protocol, wireBytes };
    case 'request-trailers':
    case 'unknown':
      return { kind, metadata, observing, protocol, wireBytes };
  }
}

function decodeProtocol(reader: WireReader): ProtocolConfig {
  let requestBodyMode = 0;
  let responseBodyMode = 0;
  let sendsBodyWithoutWaiting = false;
  const outer = reader.enter();
  for (let field = reader.next(); field !== 0; field = reader.next()) {
    if (field === 1) requestBodyMode = reader.uint32();
    else if (field === 2) responseBodyMode = reader.uint32();
    else if (field === 3) sendsBodyWithoutWaiting = reader.bool();
    else reader.skip();
  }
  reader.leave(outer);
  return { requestBodyMode, responseBodyMode, sendsBodyWithoutWaiting };
}
