import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import { createLog } from '../runtime/log/log.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { shadowFrom } from './shadow-data.ts';
import { type Shadow, startShadow } from './start-shadow.ts';

/** A thread of the lowest priority may take minutes to load on a busy machine. */
const BEGIN_ATTEMPTS = 10_000;

const shadows: Shadow[] = [];
afterEach(async () => {
  await Promise.all(shadows.splice(0).map((each) => each.stop()));
});

/** The time of the picker passes only as the test says; that of the thread is real. */
function startedShadow() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  let answers = 0;
  const shadow = startShadow({
    ...shadowFrom('random'),
    name: 'random',
    initialRecords: () => new Uint8Array(),
    clock,
    log: createLog('silent'),
    onDecisions: () => void (answers += 1),
  });
  shadows.push(shadow);
  const answered = (count: number) =>
    eventually(
      () => answers,
      (have) => have >= count,
      BEGIN_ATTEMPTS,
    );
  return { clock, shadow, answered };
}

it('[V581] a shadow that answers keeps what it has seen when the process has stood still', async () => {
  const { clock, shadow, answered } = startedShadow();
  clock.pass(10 * 60_000);
  clock.advanceBy(0);
  expect(shadow.status()).toMatchObject({ running: true, restarts: 0 });
  await answered(1);
  // It is sent what it begins with, and has answered that when the process has stood still.
  clock.advanceBy(50);
  clock.pass(10 * 60_000);
  clock.advanceBy(0);
  await answered(2);
  clock.advanceBy(10 * 60_000);
  expect(shadow.status()).toMatchObject({ running: true, restarts: 0, parity: {} });
});

it('[V581] a shadow that does not answer while the process runs is started again', async () => {
  const { clock, shadow, answered } = startedShadow();
  await answered(1);
  clock.advanceBy(50);
  clock.advanceBy(29_000);
  expect(shadow.status()).toMatchObject({ running: true, restarts: 0 });
  clock.advanceBy(1000);
  expect(shadow.status()).toMatchObject({ running: false, restarts: 1 });
  clock.advanceBy(1100);
  expect(shadow.status()).toMatchObject({ running: true, restarts: 1 });
});
