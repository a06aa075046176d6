import { expect, it } from 'vitest';
import { makePool, makeRequest, makeRouted } from '../../../test/makers.ts';
import { PRIOR_STEP_TIME, promptMs } from '../../cost-model/step-time.ts';
import { ORDERS } from '../../flow/order.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import { InTimeRequests } from './in-time-requests.ts';

const [endpoint, prefill] = makePool([{}, {}]) as [Endpoint, Endpoint];
const request = makeRequest({ promptTokens: 1000 });
/** A request of these tokens, of which half are cached, is late after more than this. */
const LATE_AFTER_MS = ORDERS['response-ratio'].lateAfterMs(
  promptMs({ promptTokens: 1000, uncachedTokens: 500 }, PRIOR_STEP_TIME),
);

function sendTo(requests: InTimeRequests, fields: Partial<Routed>): Routed {
  const routed = makeRouted(endpoint, { request, cachedTokens: 500, ...fields });
  requests.sent(routed, PRIOR_STEP_TIME);
  return routed;
}

it('counts a request that has waited just so long that it is not late, and none that is', () => {
  const requests = new InTimeRequests();
  const late = sendTo(requests, { heldMs: LATE_AFTER_MS + 1 });
  expect(requests.at(endpoint)).toBe(0);
  const held = sendTo(requests, { heldMs: LATE_AFTER_MS });
  const sentAtOnce = sendTo(requests, {});
  expect(requests.at(endpoint)).toBe(2);
  requests.onDone(late);
  expect(requests.at(endpoint)).toBe(2);
  for (let twice = 0; twice < 2; twice++) requests.onDone(held);
  expect(requests.at(endpoint)).toBe(1);
  requests.onDone(sentAtOnce);
  expect(requests.at(endpoint)).toBe(0);
});

it('counts a request where its prompt is computed', () => {
  const requests = new InTimeRequests();
  const fields = { prefill, prefillCachedTokens: 500, cachedTokens: 0 };
  sendTo(requests, { ...fields, heldMs: LATE_AFTER_MS });
  sendTo(requests, { ...fields, heldMs: LATE_AFTER_MS + 1 });
  expect([endpoint, prefill].map((each) => requests.at(each))).toEqual([0, 1]);
});

it('does not count at the next endpoint of a slot what its predecessor had', () => {
  const requests = new InTimeRequests();
  const before = sendTo(requests, {});
  requests.forget(endpoint.slot);
  expect(requests.at(endpoint)).toBe(0);
  sendTo(requests, {});
  requests.onDone(before);
  expect(requests.at(endpoint)).toBe(1);
});
