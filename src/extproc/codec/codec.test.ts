import { join } from 'node:path';
import { loadSync } from '@grpc/proto-loader';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Endpoint } from '../../framework/endpoint.ts';
import { decodeRequest } from './decode-request.ts';
import type { WireMessage } from './echo-message.ts';
import { encodeResponse } from './encode-response.ts';
import type { StreamAction } from './stream-action.ts';

// The oracle: protobufjs with the .proto files of the package.
const root = join(import.meta.dirname, '..', '..', '..', 'proto');
const definitions = loadSync('envoy/service/ext_proc/v3/external_processor.proto', {
  includeDirs: [root],
  keepCase: true,
  enums: Number,
  oneofs: true,
});
const service = definitions['envoy.service.ext_proc.v3.ExternalProcessor'];
if (service === undefined || 'format' in service)
  throw new Error('the service is not in the proto');
const method = service['Process'];
if (method === undefined) throw new Error('the service has no Process');
const encodeOracle = (message: object): Buffer => method.requestSerialize(message);
const decodeOracle = (bytes: Buffer): Record<string, unknown> =>
  method.responseDeserialize(bytes) as Record<string, unknown>;

/** Copies a message behind the five bytes of a frame, as grpc-js does. */
function framed(message: WireMessage): Buffer {
  const frame = Buffer.alloc(5 + message.byteLength);
  message.copy(frame, 5);
  return frame.subarray(5);
}

interface StructValue {
  readonly stringValue?: string;
  readonly numberValue?: number;
  readonly structValue?: object;
}

function structOf(struct: unknown): Readonly<Record<string, StructValue>> {
  return (struct as { readonly fields?: Record<string, StructValue> }).fields ?? {};
}

interface HeaderMutation {
  readonly set_headers: readonly {
    readonly header: { readonly key: string; readonly raw_value?: Buffer };
    readonly append_action: number;
  }[];
  readonly remove_headers?: readonly string[];
}

function headersSetIn(response: Record<string, unknown>): readonly (readonly string[])[] {
  const { set_headers: set } = response['header_mutation'] as HeaderMutation;
  return set.map(({ header }) => [header.key, (header.raw_value ?? '').toString()]);
}

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const name = fc.stringMatching(/^[a-z-]{1,20}$/);
const action: fc.Arbitrary<Exclude<StreamAction, { kind: 'half-close' }>> = fc.oneof(
  fc.record({
    kind: fc.constantFrom('answer-request-headers', 'answer-request-body'),
    pick: fc.record({
      destination: fc.string(),
      setHeaders: fc.array(fc.tuple(name, fc.string({ maxLength: 300 }))),
      removeHeaders: fc.array(name),
    }),
  }),
  fc.record({
    kind: fc.constant('answer-response-headers' as const),
    setHeaders: fc.array(fc.tuple(name, fc.string({ maxLength: 300 })), { minLength: 1 }),
  }),
  fc.record({
    kind: fc.constantFrom('echo-request-body', 'echo-response-body'),
    pieces: fc.array(bytes, { maxLength: 4 }),
    endOfStream: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('reject' as const),
    status: fc.constantFrom(200, 400, 404, 413, 429, 503),
    grpcStatus: fc.option(fc.integer({ min: 1, max: 16 }), { nil: undefined }),
    headers: fc.array(fc.tuple(name, fc.string())),
    body: fc.string({ maxLength: 1000 }),
  }),
);

describe('the codec', () => {
  it('decodes what protobufjs encodes', () => {
    const request = fc.record({
      kind: fc.constantFrom('request_body', 'response_body'),
      body: bytes,
      end_of_stream: fc.boolean(),
      subset: fc.array(fc.stringMatching(/^[a-z0-9.:]{1,20}$/)),
      mode: fc.integer({ min: 0, max: 4 }),
    });
    fc.assert(
      fc.property(request, ({ kind, body, end_of_stream, subset, mode }) => {
        const event = decodeRequest(
          encodeOracle({
            [kind]: { body, end_of_stream },
            metadata_context: {
              filter_metadata: {
                other: { fields: { x: { numberValue: 1 } } },
                'envoy.lb.subset_hint': {
                  fields: {
                    'x-gateway-destination-endpoint-subset': {
                      listValue: { values: subset.map((stringValue) => ({ stringValue })) },
                    },
                  },
                },
              },
            },
            protocol_config: { request_body_mode: mode, response_body_mode: 4 - mode },
          }),
        );
        expect(event).toMatchObject({
          kind: kind.replace('_', '-'),
          endOfStream: end_of_stream,
          protocol: { requestBodyMode: mode, responseBodyMode: 4 - mode },
          metadata: { subset },
        });
        if ('chunk' in event) expect(event.chunk.equals(body)).toBe(true);
      }),
    );
  });

  it('[P26] reads headers, raw values before values, and keeps the stream alive through bad UTF-8', () => {
    const event = decodeRequest(
      encodeOracle({
        request_headers: {
          headers: {
            headers: [
              { key: 'X-One', value: 'old', raw_value: Buffer.from('new') },
              { key: 'two', value: 'only' },
              { key: 'bad', raw_value: Buffer.from([0xff, 0xfe, 0x41]) },
              { key: 'two', raw_value: Buffer.from('last') },
            ],
          },
          end_of_stream: true,
        },
      }),
    );
    if (event.kind !== 'request-headers') throw new Error(`got ${event.kind}`);
    expect(event.endOfStream).toBe(true);
    const headers = event.headers.toMap();
    expect(headers.get('x-one')).toBe('new');
    expect(headers.get('two')).toBe('last');
    expect(headers.get('bad')).toContain('A');
  });

  it('[D61] adds reported numbers to any message of an answer', () => {
    const metadata = [
      { namespace: 'envoy.lb', name: 'cost', value: 1e9 },
      { namespace: 'billing', name: 'tokens', value: -0.5 },
      { namespace: 'envoy.lb', name: 'cached', value: 0 },
    ];
    const last: readonly StreamAction[] = [
      { kind: 'echo-response-body', pieces: [Buffer.from('x')], endOfStream: true, metadata },
      { kind: 'answer-response-body', body: [Buffer.from('y')], metadata },
      { kind: 'answer-response-trailers', metadata },
    ];
    for (const action of last) {
      if (action.kind === 'half-close') continue;
      const decoded = decodeOracle(framed(encodeResponse(action)));
      expect(decoded['response']).toBe(
        action.kind.replace(/^(answer|echo)-/, '').replace('-', '_'),
      );
      const { fields } = decoded['dynamic_metadata'] as { fields: Record<string, unknown> };
      expect(Object.keys(fields).sort()).toEqual(['billing', 'envoy.lb']);
      expect(fields['envoy.lb']).toMatchObject({
        structValue: { fields: { cost: { numberValue: 1e9 }, cached: { numberValue: 0 } } },
      });
      expect(fields['billing']).toMatchObject({
        structValue: { fields: { tokens: { numberValue: -0.5 } } },
      });
    }
  });

  it('encodes what protobufjs decodes', () => {
    fc.assert(
      fc.property(action, (each) => {
        const decoded = decodeOracle(framed(encodeResponse(each)));
        if (each.kind === 'reject') {
          expect(decoded['immediate_response']).toMatchObject({
            status: { code: each.status },
            body: Buffer.from(each.body),
            ...(each.grpcStatus !== undefined && { grpc_status: { status: each.grpcStatus } }),
          });
          return;
        }
        const field = each.kind.replace(/^(answer|echo)-/, '').replaceAll('-', '_');
        const { response } = decoded[field] as { response: Record<string, never> };
        if ('pieces' in each) {
          const { streamed_response } = response['body_mutation'] as unknown as {
            streamed_response: { body?: Buffer; end_of_stream?: boolean };
          };
          const body = streamed_response.body ?? Buffer.alloc(0);
          expect(body.equals(Buffer.concat(each.pieces))).toBe(true);
          expect(streamed_response.end_of_stream ?? false).toBe(each.endOfStream);
        } else if ('setHeaders' in each) {
          expect(headersSetIn(response)).toEqual(each.setHeaders);
        } else if ('pick' in each && each.pick !== undefined) {
          const { destination, setHeaders, removeHeaders } = each.pick;
          const mutation = response['header_mutation'] as unknown as HeaderMutation;
          expect(headersSetIn(response)).toEqual([
            ['x-gateway-destination-endpoint', destination],
            ...setHeaders.map(([key, value]) => [key, value]),
          ]);
          expect(mutation.set_headers.every(({ append_action }) => append_action === 2)).toBe(true);
          expect(mutation.remove_headers ?? []).toEqual(removeHeaders);
          expect(response['clear_route_cache']).toBe(true);
          expect(JSON.stringify(decoded['dynamic_metadata'])).toContain(
            JSON.stringify(destination),
          );
        }
      }),
    );
  });

  it('[D40] puts the score of each endpoint into the metadata, by its address', () => {
    const scores = fc.array(
      fc.record({
        endpoint: fc.record({ address: fc.string() }).map((known) => known as Endpoint),
        score: fc.double({ noNaN: true }),
      }),
      { maxLength: 300 },
    );
    fc.assert(
      fc.property(scores, (scored) => {
        const pick = { destination: 'a:1', setHeaders: [], removeHeaders: [], scores: scored };
        const encoded = encodeResponse({ kind: 'answer-request-headers', pick });
        const balancer = structOf(decodeOracle(framed(encoded))['dynamic_metadata'])['envoy.lb'];
        const { 'x-gateway-destination-endpoint': destination, ...rest } = structOf(
          balancer?.structValue,
        );
        expect(destination?.stringValue).toBe('a:1');
        const given = structOf(rest['x-gateway-destination-endpoint-scores']?.structValue);
        const expected = scored.map(({ endpoint, score }) => [endpoint.address, score]);
        expect(Object.entries(given).map(([key, { numberValue: score }]) => [key, score])).toEqual(
          Object.entries(Object.fromEntries(expected)),
        );
      }),
      { seed: 40 },
    );
  });

  it('refuses bytes that are no message, and never anything but with a RangeError', () => {
    const whole = encodeOracle({ request_body: { body: Buffer.alloc(100), end_of_stream: true } });
    expect(() => decodeRequest(whole.subarray(0, 50))).toThrow(RangeError);
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (garbage) => {
        try {
          decodeRequest(Buffer.from(garbage));
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('reads any headers as protobufjs wrote them, all of them or one by name', () => {
    const header = fc.record({
      key: fc.stringMatching(/^[a-zA-Z:][a-zA-Z0-9-]{0,12}$/),
      value: fc.oneof(fc.constant(''), fc.string({ unit: 'binary' })),
      raw_value: fc.oneof(
        fc.constant(Buffer.alloc(0)),
        fc.string().map((text) => Buffer.from(text)),
      ),
    });
    fc.assert(
      fc.property(fc.array(header, { maxLength: 20 }), fc.boolean(), (headers, end) => {
        const event = decodeRequest(
          encodeOracle({ response_headers: { headers: { headers }, end_of_stream: end } }),
        );
        if (event.kind !== 'response-headers') throw new Error(`got ${event.kind}`);
        const expected = new Map(
          headers.map(({ key, value, raw_value }) => [
            key.toLowerCase(),
            // Lone surrogates are replaced when they are encoded.
            raw_value.length > 0 ? raw_value.toString() : Buffer.from(value).toString(),
          ]),
        );
        expect(event.endOfStream).toBe(end);
        expect(event.headers.toMap()).toEqual(expected);
        for (const { key } of headers) {
          const lower = headers.filter((other) => other.key === key).at(-1);
          const value =
            lower === undefined || lower.raw_value.length > 0
              ? lower?.raw_value.toString()
              : Buffer.from(lower.value).toString();
          expect(event.headers.get(key)).toBe(value);
        }
        expect(event.headers.get('no-such-header')).toBeUndefined();
      }),
    );
  });

  it('[P9][P26] reads a subset from a list or a comma string, and none from any other kind of value', () => {
    const subsetOf = (value: object): readonly string[] | undefined => {
      const event = decodeRequest(
        encodeOracle({
          request_headers: { headers: { headers: [] } },
          metadata_context: {
            filter_metadata: {
              'envoy.lb.subset_hint': {
                fields: { 'x-gateway-destination-endpoint-subset': value },
              },
              'envoy.lb': {
                fields: {
                  'x-gateway-destination-endpoint-served': { stringValue: '10.0.0.9:1' },
                  'x-gateway-destination-endpoint': { stringValue: '10.0.0.8:1,10.0.0.9:1' },
                },
              },
            },
          },
        }),
      );
      expect(event.metadata?.served).toBe('10.0.0.9:1');
      expect(event.metadata?.destination).toBe('10.0.0.8:1,10.0.0.9:1');
      return event.metadata?.subset;
    };
    const list = (...values: readonly object[]): object => ({ listValue: { values } });
    expect(subsetOf(list({ stringValue: '10.0.0.1:80' }, { numberValue: 1 }))).toEqual([
      '10.0.0.1:80',
    ]);
    expect(subsetOf(list())).toEqual([]);
    expect(subsetOf({ stringValue: '10.0.0.1:80, [fd00::1]:80,' })).toEqual([
      '10.0.0.1:80',
      '[fd00::1]:80',
    ]);
    expect(subsetOf({ stringValue: '' })).toEqual([]);
    for (const other of [
      { numberValue: 7 },
      { boolValue: true },
      { nullValue: 0 },
      { structValue: { fields: {} } },
    ]) {
      expect(subsetOf(other)).toBeUndefined();
    }
  });
});
