import { expect, it } from 'vitest';
import { RELOADED, WAIT_PLANS } from '../support/storms/wait-plans.ts';
import { type Bounds, waitStorm } from '../support/storms/wait-storm.ts';

it.each(Object.keys(WAIT_PLANS).flatMap((name, at) => [[name, 11 + at, at % 2 === 1] as const]))(
  '[V546] %s: no request waits longer than its bound and one call, seed %i, in threads: %s',
  (name, seed, inThreads) => {
    const bounds = WAIT_PLANS[name] as (typeof WAIT_PLANS)[string];
    const { faults, placed, ended } = waitStorm(seed, bounds, { requests: 300, inThreads });
    expect(faults).toEqual([]);
    expect([placed > 20, ended > 2]).toEqual([true, true]);
  },
);

it.each([
  [1, false],
  [4, true],
])(
  '[V593] so where configurations with other bounds come meanwhile, seed %i, in threads: %s',
  (seed, inThreads) => {
    const [first, ...reloads] = RELOADED as [Bounds, ...Bounds[]];
    const options = { requests: 300, inThreads, reloads };
    const { faults, placed, ended } = waitStorm(seed, first, options);
    expect(faults).toEqual([]);
    expect([placed > 20, ended > 2]).toEqual([true, true]);
  },
);
