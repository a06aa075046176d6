import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeOracle } from '../../../test/support/grpc/protobuf-oracle.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { WireMessage } from './echo-message.ts';
import { encodeResponse } from './encode-response.ts';
import type { StreamAction } from './stream-action.ts';

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
    kind: fc.constant('immediate-response' as const),
    status: fc.constantFrom(200, 400, 404, 413, 429, 503),
    grpcStatus: fc.option(fc.integer({ min: 1, max: 16 }), { nil: undefined }),
    headers: fc.array(fc.tuple(name, fc.string())),
    body: fc.string({ maxLength: 1000 }),
  }),
);

describe('a response encoded', () => {
  it('[D61] has reported numbers with any message of an answer', () => {
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

  it('is read by protobufjs as it was meant', () => {
    fc.assert(
      fc.property(action, (each) => {
        const decoded = decodeOracle(framed(encodeResponse(each)));
        if (each.kind === 'immediate-response') {
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
      { seed: 846 },
    );
  });

  it('[D40] has the score of each endpoint in its metadata, by its address', () => {
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
});
