import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import { Bench } from 'tinybench';
import { decodeRequest } from '../src/extproc/codec/decode-request.ts';
import { encodeResponse } from '../src/extproc/codec/encode-response.ts';
import type { PickMutation, StreamAction } from '../src/extproc/codec/stream-action.ts';

/**
 * Measures the time to read and to write a message, with our codec and with protobufjs through
 * @grpc/proto-loader: `node bench/micro-codec.ts`. Writing includes the copy into grpc-js's frame:
 * our codec writes into the frame, protobufjs needs an extra copy.
 */

type Answer = Exclude<StreamAction, { readonly kind: 'half-close' }>;

const service = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
  includeDirs: [join(import.meta.dirname, '..', 'proto')],
  keepCase: true,
})['envoy.service.ext_proc.v3.ExternalProcessor'];
if (service === undefined || 'format' in service) throw new Error('no service in the proto');
const { Process } = service;
if (Process === undefined) throw new Error('no Process in the service');
const theirs = Process;

const HEADERS = [
  [':method', 'POST'],
  [':path', '/v1/chat/completions'],
  [':scheme', 'http'],
  [':authority', 'gateway.example:8080'],
  ['user-agent', 'OpenAI/Python 1.99.1'],
  ['accept', 'application/json'],
  ['accept-encoding', 'gzip, deflate'],
  ['content-type', 'application/json'],
  ['content-length', '1024'],
  ['authorization', 'Bearer 0123456789abcdef0123456789abcdef'],
  ['x-forwarded-proto', 'http'],
  ['x-request-id', '2f1b6c1e-6a3a-4d5e-9a3e-0e6f3f2a7c11'],
].map(([key = '', value = '']) => ({ key, raw_value: Buffer.from(value) }));

const pick: PickMutation = {
  destination: '10.0.0.1:8000',
  setHeaders: [['content-length', '1024']],
  removeHeaders: [],
};

function frame(message: {
  readonly byteLength: number;
  copy(to: Buffer, at: number): number;
}): Buffer {
  const out = Buffer.allocUnsafe(message.byteLength + 5);
  message.copy(out, 5);
  return out;
}

const value = (key: string, raw_value: string) => ({
  header: { key, raw_value: Buffer.from(raw_value) },
  append_action: 2,
});
const destination = { stringValue: pick.destination };
const theirPick = () => ({
  request_headers: {
    response: {
      header_mutation: {
        set_headers: [
          value('x-gateway-destination-endpoint', pick.destination),
          value('content-length', '1024'),
        ],
      },
      clear_route_cache: true,
    },
  },
  dynamic_metadata: {
    fields: {
      'envoy.lb': {
        structValue: { fields: { 'x-gateway-destination-endpoint': destination } },
      },
    },
  },
});

const bench = new Bench({ time: 300 });

function compare(name: string, ours: () => unknown, protobufjs: () => unknown): void {
  bench.add(`${name}, ours`, () => void ours());
  bench.add(`${name}, protobufjs`, () => void protobufjs());
}

const headers = theirs.requestSerialize({ request_headers: { headers: { headers: HEADERS } } });
compare(
  'read 12 headers into a map',
  () => {
    const event = decodeRequest(headers);
    return event.kind === 'request-headers' && event.headers.toMap();
  },
  () => {
    const { request_headers } = theirs.requestDeserialize(headers) as {
      readonly request_headers: { readonly headers: { readonly headers: typeof HEADERS } };
    };
    const map = new Map<string, string>();
    for (const { key, raw_value } of request_headers.headers.headers) {
      map.set(key.toLowerCase(), raw_value.toString());
    }
    return map;
  },
);
compare(
  'write a pick',
  () => frame(encodeResponse({ kind: 'answer-request-headers', pick })),
  () => frame(theirs.responseSerialize(theirPick())),
);
for (const bodyBytes of [100, 1024, 62_000]) {
  const body = Buffer.alloc(bodyBytes, 'x');
  const message = theirs.requestSerialize({ request_body: { body, end_of_stream: true } });
  compare(
    `read ${bodyBytes} bytes of body`,
    () => decodeRequest(message),
    () => theirs.requestDeserialize(message),
  );
  const echo: Answer = { kind: 'echo-request-body', pieces: [body], endOfStream: true };
  compare(
    `write ${bodyBytes} bytes of body`,
    () => frame(encodeResponse(echo)),
    () => {
      const streamed_response = { body, end_of_stream: true };
      const response = { body_mutation: { streamed_response } };
      return frame(theirs.responseSerialize({ request_body: { response } }));
    },
  );
}

await bench.run();
for (const { name, result } of bench.tasks) {
  const us = 'latency' in result ? (result.latency.p50 * 1000).toFixed(2) : '–';
  process.stdout.write(`${name.padEnd(40)}${us.padStart(10)} µs\n`);
}
