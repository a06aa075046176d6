import { expect, it } from 'vitest';
import { makeEndpoint, makeRequest } from '../../../test/makers.ts';
import { FairShares } from '../../flow/fair-shares.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import { HeldLoads } from './held-loads.ts';

const ENDPOINT = makeEndpoint('e0', { slot: 0 });
const IDLE = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

function requestOf(fairnessId: string, priority = 0): InferenceRequest {
  return makeRequest({ fairnessId, priority, promptTokens: 100 });
}

/** What a request is decided with, while requests of 100 tokens each wait for the endpoint. */
function seenBy(request: InferenceRequest, waiting: readonly InferenceRequest[], isFair = true) {
  const loads = new HeldLoads({ load: () => IDLE }, new FairShares(), {
    crowdedFrom: () => 0,
    computedMs: () => 0,
  });
  loads.isFair = isFair;
  for (const each of waiting) {
    const share = loads.shareOf(each);
    loads.add({ endpoint: ENDPOINT, prefillTokens: 100, request: each, share });
  }
  loads.begin(request);
  const { requests, pendingPrefillTokens } = loads.load(ENDPOINT);
  const [recorded] = loads.snapshot(request) ?? [];
  expect(recorded?.slice(1, 3)).toEqual([requests, pendingPrefillTokens]);
  return [requests, pendingPrefillTokens];
}

it('[Q137] a request is decided with what goes before it: all that its flow has waiting', () => {
  const waiting = Array.from({ length: 5 }, () => requestOf('a'));
  expect(seenBy(requestOf('a'), waiting)).toEqual([5, 500]);
});

it('[Q137] of each other flow as much counts as its own flow has with it', () => {
  const burst = Array.from({ length: 50 }, () => requestOf('loud'));
  expect(seenBy(requestOf('quiet'), burst)).toEqual([1, 100]);
  expect(seenBy(requestOf('quiet'), [...burst, requestOf('quiet')])).toEqual([3, 300]);
  const many = Array.from({ length: 30 }, (_, n) => requestOf(`tenant-${n}`));
  expect(seenBy(requestOf('quiet'), many)).toEqual([30, 3000]);
});

it('[Q137] of other priorities only the higher ones count', () => {
  const waiting = [requestOf('a', -1), requestOf('a', 0), requestOf('a', 2), requestOf('b', 2)];
  expect(seenBy(requestOf('a', 1), waiting)).toEqual([2, 200]);
  expect(seenBy(requestOf('a', -2), waiting)).toEqual([4, 400]);
});

it('[Q137] where order is fcfs, all of its priority count', () => {
  const burst = Array.from({ length: 50 }, () => requestOf('loud'));
  expect(seenBy(requestOf('quiet'), burst, false)).toEqual([50, 5000]);
});

it('what a captured decision was made with counts for that decision alone', () => {
  const known = { crowdedFrom: () => 0, computedMs: () => 0 };
  const loads = new HeldLoads({ load: () => IDLE }, new FairShares(), known);
  const request = requestOf('a');
  const seen = () => {
    const shared = loads.sharedWith(request)?.(ENDPOINT);
    return [loads.load(ENDPOINT).requests, shared, loads.isCrowdedOut(request)];
  };
  loads.begin(request, { heldBefore: [[ENDPOINT.id, 3, 300, 300, 64, 2]], crowdedOut: true });
  expect(seen()).toEqual([3, { tokens: 64, requests: 2 }, true]);
  loads.begin(request);
  expect(seen()).toEqual([0, undefined, false]);
});
