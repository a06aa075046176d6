import { expect, it } from 'vitest';
import { encoded, WELCOME } from '../../test/support/remote-bed.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import type { CallOptions } from '../framework/runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SchedulerLink } from './scheduler-link.ts';

/** A link in a process that stands still where the test lets its time pass. */
function link() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  const calls: CallOptions[] = [];
  const failures: string[] = [];
  const made = new SchedulerLink({
    address: 'x:1',
    tls: undefined,
    clock,
    network: {
      get: () => Promise.reject(new Error('no HTTP here')),
      openCall: (call) => {
        calls.push(call);
        return { send: () => undefined, waitingBytes: () => 0, close: () => undefined };
      },
    },
    hello: () => ({ hello: { version: 1, picker: 'p', headers: [], deadlineMs: 5 } }),
    onWelcome: () => undefined,
    onDecisions: () => undefined,
    onFailed: (reason) => void failures.push(reason),
    onDown: () => undefined,
  });
  const says = (message: object): void => calls.at(-1)?.onMessage(encoded(message));
  const standStill = (ms: number): void => {
    clock.pass(ms);
    clock.advanceBy(0);
  };
  return { clock, calls, failures, made, says, standStill };
}

it('[V582] a Welcome that came while the process stood still is in time', () => {
  const { clock, calls, failures, made, says, standStill } = link();
  standStill(60_000);
  says({ welcome: WELCOME });
  clock.advanceBy(60_000);
  expect([failures, calls.length, made.welcome?.name]).toEqual([[], 1, 'fake']);
  made.stop();
  expect(clock.pending).toBe(0);
});

it('[V582] a stream on which answers are missing is kept where they came while the process stood still', () => {
  const { clock, calls, failures, made, says, standStill } = link();
  says({ welcome: WELCOME });
  made.expectAnswer(2);
  made.doubt();
  standStill(60_000);
  says({ decisions: [{ id: 'a', targets: [{ slot: 0, score: 1 }] }] });
  clock.advanceBy(60_000);
  expect([failures, calls.length]).toEqual([[], 1]);
  made.stop();
  expect(clock.pending).toBe(0);
});

it('[V582] a stream on which nothing came either is opened again after its time', () => {
  const { clock, failures, made, says, standStill } = link();
  says({ welcome: WELCOME });
  made.doubt();
  standStill(60_000);
  clock.advanceBy(8999);
  expect(failures).toEqual([]);
  clock.advanceBy(2);
  expect(failures).toEqual(['it has sent nothing for 10000 ms, and answers are missing']);
  made.stop();
});
