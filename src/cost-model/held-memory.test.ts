import { expect, it } from 'vitest';
import { makeEndpoint } from '../../test/makers.ts';
import { heldShare } from './held-memory.ts';

const load = { requests: 2, contextTokens: 4000, pendingPrefillTokens: 0 };

it('[Q358] memory that no request holds is free, as far as the requests that run do not need it', () => {
  const endpoint = makeEndpoint('pod', { running: 10, kv: 0.95 });
  expect(heldShare(load, endpoint, 100_000)).toBe(0.95);
  expect(heldShare({ ...load, keptShare: 0.5 }, endpoint, 100_000)).toBeCloseTo(0.45, 9);
  expect(heldShare({ ...load, keptShare: 0.9 }, endpoint, 100_000)).toBeCloseTo(0.2, 9);
  expect(heldShare({ ...load, keptShare: 0.9 }, endpoint, 10_000)).toBe(0.95);
});
