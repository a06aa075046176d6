import { expect, it } from 'vitest';
import { makeEndpoint } from '../../test/makers.ts';
import type { AttributeKey } from '../framework/endpoint.ts';
import { ENGINE_COUNT } from '../framework/endpoint-attributes.ts';
import { shownCapacityTokens } from './shown-capacity.ts';

const load = { requests: 2, contextTokens: 4000, pendingPrefillTokens: 0 };
const sample = { running: 30, kv: 0.75 };

it('[Q280] memory of unknown size is shown by the requests that run and the share in use', () => {
  expect(shownCapacityTokens(load, makeEndpoint('pod', sample))).toBe(80_000);
});

it('[Q315] memory that is shown by several engines together is shared out among them', () => {
  const endpoint = makeEndpoint('pod', {
    ...sample,
    attributes: [[ENGINE_COUNT as AttributeKey<never>, 8]],
  });
  expect(shownCapacityTokens(load, endpoint)).toBe(10_000);
});

it.each([
  [{ ...load, requests: 0 }, sample],
  [{ ...load, contextTokens: 0 }, sample],
  [load, { ...sample, running: 0 }],
  [load, { ...sample, kv: 0.1 }],
])(
  '[Q280] it is not shown without requests or tokens, or where little of it is in use: %j',
  (ours, theirs) => {
    expect(shownCapacityTokens(ours, makeEndpoint('pod', theirs))).toBeUndefined();
  },
);
