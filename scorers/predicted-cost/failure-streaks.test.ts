import { expect, it } from 'vitest';
import { makeEndpoint } from '../../test/makers.ts';
import { FailureStreaks } from './failure-streaks.ts';

it('[V472] an endpoint is suspect for 8 s after the last of many failures, and not at all after a success', () => {
  const endpoint = makeEndpoint('a', { slot: 0 });
  const streaks = new FailureStreaks();
  for (let at = 0; at < 100; at += 1) streaks.ended(endpoint, at, 'failed');
  expect(streaks.isSuspect(endpoint, 99 + 7999)).toBe(true);
  expect(streaks.isSuspect(endpoint, 99 + 8000)).toBe(false);
  streaks.ended(endpoint, 9000, 'failed');
  streaks.ended(endpoint, 9001, 'completed');
  expect(streaks.isSuspect(endpoint, 9002)).toBe(false);
});
