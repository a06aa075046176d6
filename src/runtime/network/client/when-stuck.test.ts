import { expect, it } from 'vitest';
import { UnsteadyClock } from '../../../../test/support/unsteady-clock.ts';
import { seededRandom } from '../../seeded-random.ts';
import { whenStuck } from './when-stuck.ts';

const [CONNECTING, READY, SHUTDOWN] = [1, 2, 4];

function connecting() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  let state = CONNECTING;
  let changed = (): void => undefined;
  const channel = {
    getConnectivityState: () => state,
    watchConnectivityState: (_state: number, _until: unknown, callback: () => void) => {
      changed = callback;
    },
  };
  let stuck = 0;
  whenStuck(channel, { clock, limitMs: 5000 }, () => void (stuck += 1));
  const become = (next: number): void => {
    state = next;
    changed();
  };
  return { clock, become, stuck: () => stuck };
}

it('[V543] a channel that has connected while the process stood still is not stuck', () => {
  const { clock, become, stuck } = connecting();
  clock.pass(60_000);
  clock.advanceBy(0);
  become(READY);
  clock.advanceBy(60_000);
  expect([stuck(), clock.pending]).toEqual([0, 0]);
});

it('[V481] a channel that connects without an outcome is stuck, once', () => {
  const { clock, become, stuck } = connecting();
  clock.advanceBy(4999);
  expect(stuck()).toBe(0);
  clock.advanceBy(60_000);
  expect(stuck()).toBe(1);
  become(SHUTDOWN);
  expect(clock.pending).toBe(0);
});
