import fc from 'fast-check';
import { expect, it } from 'vitest';
import { encodeOracle } from '../../../test/support/grpc/protobuf-oracle.ts';
import { decodeRequest } from './decode-request.ts';

const LB = 'envoy.lb';
const HINT = 'envoy.lb.subset_hint';
const DESTINATION = 'x-gateway-destination-endpoint';
const SERVED = `${DESTINATION}-served`;
const SUBSET = `${DESTINATION}-subset`;

/** A google.protobuf.Value, as far as it is looked at here. */
interface Value {
  readonly stringValue?: string;
  readonly listValue?: { readonly values: readonly Value[] };
}

const text = fc.constantFrom('', '10.0.0.1:80', '[fd00::1]:80', 'é€');
const value: fc.Arbitrary<Value> = fc.oneof(
  text.map((stringValue) => ({ stringValue })),
  fc.array(text).map((list) => ({
    listValue: { values: [{}, ...list.map((stringValue) => ({ stringValue }))] },
  })),
  fc.constantFrom<object>({ numberValue: 3 }, { structValue: { fields: { [SERVED]: {} } } }),
);
/** Names of ours, those that begin like them, and others, in any order. */
const key = fc.constantFrom<string>(
  DESTINATION,
  SERVED,
  SUBSET,
  `${SERVED}s`,
  'x-gateway',
  'other',
  '',
);
const filter = fc.constantFrom<string>(
  LB,
  HINT,
  'envoy.lb.',
  'envoy.l',
  'envoy.filters.http.jwt_authn',
  '',
);
const entries = fc.array(fc.tuple(filter, fc.array(fc.tuple(key, value))));

it('[P48] is that of the entries that a picker needs, whatever others are written beside them', () => {
  fc.assert(
    fc.property(entries, (drawn) => {
      const filters = new Map(drawn.map(([name, fields]) => [name, new Map(fields)]));
      const filter_metadata = Object.fromEntries(
        [...filters].map(([name, fields]) => [name, { fields: Object.fromEntries(fields) }]),
      );
      const { metadata } = decodeRequest(
        encodeOracle({ response_body: {}, metadata_context: { filter_metadata } }),
      );
      const found = (name: string, field: string): readonly string[] | undefined =>
        textsOf(filters.get(name)?.get(field));
      expect(metadata).toEqual({
        served: found(LB, SERVED)?.[0],
        destination: found(LB, DESTINATION)?.[0],
        subset: subsetOf(filters.get(HINT)?.get(SUBSET)),
      });
    }),
    { seed: 847 },
  );
});

function textsOf(given: Value | undefined): readonly string[] | undefined {
  if (given?.stringValue !== undefined) return [given.stringValue];
  return given?.listValue?.values.flatMap(({ stringValue }) => stringValue ?? []);
}

function subsetOf(given: Value | undefined): readonly string[] | undefined {
  if (given?.stringValue === '') return undefined;
  return textsOf(given)?.filter((each) => each !== '');
}
