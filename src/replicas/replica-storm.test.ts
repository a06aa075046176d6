import { expect, it } from 'vitest';
import { replicaStorm } from '../../test/support/storms/replica-storm.ts';

it.each([
  [1, 'busy'],
  [2, 'usual'],
  // Without the time that the thread computes, as where the system does not say it.
  [5, 'usual'],
  [3, 'still'],
] as const)(
  '[V547] replicas that share in unsteady time know that nothing is left, seed %i, clock %s',
  async (seed, pace) => {
    const { faults, placed, applied } = await replicaStorm(seed, { requests: 250, pace });
    expect(faults).toEqual([]);
    expect([placed > 150, applied > 50]).toEqual([true, true]);
  },
);
