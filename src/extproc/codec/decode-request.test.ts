import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeOracle } from '../../../test/support/grpc/protobuf-oracle.ts';
import { decodeRequest } from './decode-request.ts';

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));

describe('a request decoded', () => {
  it('is what protobufjs has encoded', () => {
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
      { seed: 848 },
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
      { seed: 849, numRuns: 2000 },
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
      { seed: 850 },
    );
  });

  it('[P9][P26] reads a subset from a list or a comma string, and none from an empty text or another kind of value', () => {
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
    expect(subsetOf(list({ stringValue: '' }))).toEqual([]);
    // A rule that copies a header copies an empty one, too.
    expect(subsetOf({ stringValue: '' })).toBeUndefined();
    expect(subsetOf({ stringValue: ' , ' })).toEqual([]);
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
