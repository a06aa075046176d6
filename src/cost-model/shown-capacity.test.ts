import { expect, it } from 'vitest';
import { shownCapacityTokens } from './shown-capacity.ts';

const load = { requests: 2, contextTokens: 4000, pendingPrefillTokens: 0 };
const sample = { runningRequests: 30, kvCacheUsage: 0.75, waitingQueueSize: 0, sampledAt: 0 };

it('[Q280] memory of unknown size is shown by the requests that run and the share in use', () => {
  expect(shownCapacityTokens(load, sample)).toBe(80_000);
});

it.each([
  [{ ...load, requests: 0 }, sample],
  [{ ...load, contextTokens: 0 }, sample],
  [load, { ...sample, runningRequests: 0 }],
  [load, { ...sample, kvCacheUsage: 0.1 }],
])(
  '[Q280] it is not shown without requests or tokens, or where little of it is in use: %j',
  (ours, theirs) => {
    expect(shownCapacityTokens(ours, theirs)).toBeUndefined();
  },
);
