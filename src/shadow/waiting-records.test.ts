import { afterEach, expect, it } from 'vitest';
import { eventually } from '../../bench/support/stack.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { createLog } from '../runtime/log/log.ts';
import { shadowFrom } from './shadow-data.ts';
import { type Shadow, startShadow } from './start-shadow.ts';
import { WaitingRecords } from './waiting-records.ts';

/** A thread of the lowest priority may take minutes to load on a busy machine. */
const BEGIN_ATTEMPTS = 10_000;

const shadows: Shadow[] = [];
afterEach(async () => {
  await Promise.all(shadows.splice(0).map((each) => each.stop()));
});

it('[G297] a shadow says how many records wait for it, also those it was just sent', async () => {
  const clock = new SimulatedClock();
  let answers = 0;
  let buffered = 0;
  const shadow: Shadow = startShadow({
    ...shadowFrom('random'),
    name: 'random',
    initialRecords: () => new Uint8Array(),
    clock,
    log: createLog('silent'),
    drain: () => {
      if (buffered > 0) shadow.receive(Buffer.from('\n'), buffered);
      buffered = 0;
    },
    onDecisions: () => void (answers += 1),
  });
  shadows.push(shadow);
  const answered = (count: number): Promise<number> =>
    eventually(
      () => answers,
      (have) => have >= count,
      BEGIN_ATTEMPTS,
    );
  shadow.receive(Buffer.from('\n\n'), 2);
  expect(shadow.status().waiting).toBe(2);
  // While it loads, what the recorder has gathered waits, too.
  buffered = 3;
  clock.advanceTo(clock.now() + 50);
  expect(shadow.status().waiting).toBe(5);
  await answered(1);
  clock.advanceTo(clock.now() + 50);
  expect(shadow.status()).toMatchObject({ waiting: 5, dropped: 0 });
  await answered(2);
  expect(shadow.status()).toMatchObject({ waiting: 0, dropped: 0, running: true });
});

it('[G297] a batch has whole lines of the oldest records, and a piece above the bound alone', () => {
  const waiting = new WaitingRecords();
  waiting.beginWith(Buffer.from('state\n'));
  const large = new Uint8Array(600 * 1024);
  waiting.add(Buffer.from('a\n'), 1);
  waiting.add(large, 7);
  waiting.add(Buffer.from('b\n'), 2);
  const batches = [waiting.takeBatch(), waiting.takeBatch(), waiting.takeBatch()];
  expect(batches.map(({ bytes, records }) => [bytes.length, records])).toEqual([
    ['state\na\n'.length, 1],
    [large.length, 7],
    ['b\n'.length, 2],
  ]);
  expect([waiting.isEmpty, waiting.records, waiting.bytes]).toEqual([true, 0, 0]);
});
