import { expect, test, vi } from 'vitest';
import { asObserver } from './observer-flags.ts';
import type { ServeFlags } from './serve-flags.ts';

test.each([
  [{ observe: true, haEnableLeaderElection: true }, false, 1],
  [{ observe: true, haEnableLeaderElection: false }, false, 0],
  [{ observe: false, haEnableLeaderElection: true }, true, 0],
])('[D312] an observer takes no part in an election: %j', (flags, takesPart, warnings) => {
  const warn = vi.fn();
  const { haEnableLeaderElection } = asObserver(flags as ServeFlags, { warn });
  expect(haEnableLeaderElection).toBe(takesPart);
  expect(warn).toHaveBeenCalledTimes(warnings);
});
