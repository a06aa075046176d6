import { expect, it } from 'vitest';
import type { Outcome } from '../../src/framework/observer.ts';
import { makeEndpoint, makeRouted } from '../../test/makers.ts';
import { FailureStreaks } from './failure-streaks.ts';

const endpoint = makeEndpoint('a', { slot: 0 });

/** Ends requests that were sent at these times, each at the time beside it. */
function streaksOf(ends: readonly (readonly [number, number, Outcome])[]): FailureStreaks {
  const streaks = new FailureStreaks();
  for (const [sentAt, at, outcome] of ends) {
    streaks.ended(makeRouted(endpoint, { at: sentAt }), at, outcome);
  }
  return streaks;
}

it('[V472] an endpoint is suspect for 8 s after the last of many failures, and not at all after a success', () => {
  const failures = Array.from({ length: 100 }, (_, at) => [at, at + 0.5, 'failed'] as const);
  const streaks = streaksOf(failures);
  expect(streaks.isSuspect(endpoint, 99.5 + 7999)).toBe(true);
  expect(streaks.isSuspect(endpoint, 99.5 + 8000)).toBe(false);
  const back = streaksOf([...failures, [9000, 9001, 'completed']]);
  expect(back.isSuspect(endpoint, 9002)).toBe(false);
});

it('[Q351] requests that one crash has ended are one failure, however many they are', () => {
  const crash = Array.from({ length: 30 }, (_, sentAt) => [sentAt, 1000, 'failed'] as const);
  const streaks = streaksOf(crash);
  expect(streaks.isSuspect(endpoint, 1499)).toBe(true);
  expect(streaks.isSuspect(endpoint, 1500)).toBe(false);
  const refused = streaksOf([...crash, [1500, 1501, 'failed']]);
  expect(refused.isSuspect(endpoint, 1501 + 999)).toBe(true);
  expect(refused.isSuspect(endpoint, 1501 + 1000)).toBe(false);
});

it('[Q351] an endpoint stays suspect while requests go on failing that were sent before', () => {
  const slow = Array.from({ length: 30 }, (_, n) => [n, 1000 + 100 * n, 'failed'] as const);
  const streaks = streaksOf(slow);
  expect(streaks.isSuspect(endpoint, 3900 + 499)).toBe(true);
  expect(streaks.isSuspect(endpoint, 3900 + 500)).toBe(false);
});
