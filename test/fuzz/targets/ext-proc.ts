import { decodeRequest } from '../../../src/extproc/codec/decode-request.ts';
import type { StreamEvent } from '../../../src/extproc/codec/stream-event.ts';
import { encodeOracle } from '../../support/grpc/protobuf-oracle.ts';
import { expected, type FuzzTarget } from '../target.ts';

const HEADERS = {
  headers: {
    headers: [
      { key: ':path', raw_value: Buffer.from('/v1/chat/completions') },
      { key: 'content-type', value: 'application/json' },
    ],
  },
  end_of_stream: false,
};
const text = (value: string): object => ({ kind: 'stringValue', stringValue: value });
const METADATA = {
  filter_metadata: {
    'envoy.lb.subset_hint': {
      fields: { 'x-gateway-destination-endpoint-subset': text('10.0.0.1:8000,10.0.0.2:8000') },
    },
    'envoy.lb': { fields: { 'x-gateway-destination-endpoint-served': text('10.0.0.1:8000') } },
  },
};

/** Messages of a proxy: whatever the bytes are, they are a message or a RangeError. */
export const extProc: FuzzTarget = {
  name: 'ext-proc',
  seeds: [
    encodeOracle({ request_headers: HEADERS, metadata_context: METADATA }),
    encodeOracle({
      request_headers: HEADERS,
      protocol_config: { request_body_mode: 4, response_body_mode: 4 },
    }),
    encodeOracle({ request_body: { body: Buffer.from('{"model":"m"}'), end_of_stream: true } }),
    encodeOracle({ response_headers: HEADERS }),
    encodeOracle({ response_body: { body: Buffer.from('data: {}\n\n') } }),
    encodeOracle({ request_trailers: {} }),
    encodeOracle({ response_trailers: {}, observability_mode: true }),
  ],
  words: ['envoy.lb', ':path', '\x12\x00', '\x0a\x02\x08\x01', '\xff\xff\xff\xff\x0f', '\x52\x01'],
  run: (input) => {
    let event: StreamEvent;
    try {
      event = decodeRequest(Buffer.from(input));
      const subset = event.metadata?.subset?.length ?? -1;
      const outcome = `${event.kind} ${subset} ${event.observing} ${event.protocol?.requestBodyMode}`;
      if (!('headers' in event)) return outcome;
      const headers = event.headers.toMap();
      const status = event.headers.get(':status');
      return `${outcome} ${Math.min(4, headers.size)} ${status === undefined}`;
    } catch (error) {
      return expected(error, RangeError);
    }
  },
};
