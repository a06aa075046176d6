import { describe, expect, it } from 'vitest';
import { CountedClock } from '../../../../../test/support/counted-clock.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { Pace } from './pace.ts';

function setUp(workMs: number, { timersLateMs = 0 } = {}) {
  const clock = new SimulatedClock();
  const late: boolean[] = [];
  let workedMs = 0;
  // Work takes time of the processor, and the simulated clock stands still meanwhile.
  const counted = Object.assign(Object.create(clock) as SimulatedClock, {
    now: () => clock.now(),
    setTimer: (delay: number, callback: () => void) =>
      clock.setTimer(delay + timersLateMs, callback),
    cpuTime: () => workedMs,
  });
  const pace = new Pace({
    clock: counted,
    share: () => 0.1,
    onLate: (is) => void late.push(is),
  });
  const work = (): void => {
    workedMs += workMs;
  };
  const receive = (ms: number): void => {
    workedMs += ms;
  };
  return { clock, late, pace, work, receive, workedMs: () => workedMs };
}

describe('the pace at which answers of an API server are read', () => {
  it('[V341] takes a tenth of the time of a server that sends without end, and says so', async () => {
    const { clock, late, pace, work, workedMs } = setUp(5);
    let stopped = false;
    const flood = async (): Promise<void> => {
      while (!stopped) await pace.run(work);
    };
    void flood();
    await clock.run(60_000);
    expect(workedMs()).toBeGreaterThan(0.09 * 60_000);
    expect(workedMs()).toBeLessThan(0.1 * 60_000 + 110);
    expect(late).toEqual([true]);
    expect(pace.waitedMs).toBeGreaterThan(50_000);
    stopped = true;
    await clock.run(61_000);
    clock.advanceTo(70_000);
    await pace.run(work);
    expect(late).toEqual([true, false]);
  });

  it('[V392] counts what receiving the bytes takes, and of other work as much at most', async () => {
    for (const [receiveMs, share] of [
      [1, 0.1],
      [20, 0.25],
    ] as const) {
      const { clock, pace, work, receive, workedMs } = setUp(5);
      let stopped = false;
      const flood = async (): Promise<void> => {
        while (!stopped) {
          receive(receiveMs);
          await pace.run(work);
        }
      };
      void flood();
      await clock.run(60_000);
      expect(workedMs()).toBeGreaterThan(0.95 * share * 60_000);
      expect(workedMs()).toBeLessThan(share * 60_000 + 300);
      stopped = true;
      await clock.run(61_000);
    }
  });

  it('[V341] holds up nothing that comes now and then', async () => {
    const { clock, late, pace, work } = setUp(2);
    for (let n = 0; n < 1000; n++) {
      await pace.run(work);
      clock.advanceTo(clock.now() + 30);
    }
    expect([pace.waitedMs, late]).toEqual([0, []]);
  });

  it('[V590] says nothing of a server where timers came late while reading waited', async () => {
    const { clock, late, pace, work } = setUp(200, { timersLateMs: 2500 });
    for (let n = 0; n < 2; n++) void pace.run(work);
    await clock.run(60_000);
    expect(pace.waitedMs).toBeGreaterThan(2500);
    expect(late).toEqual([]);
  });

  it('[V620] leaves no timer and nobody who waits once it has stopped', async () => {
    const clock = new CountedClock(new SimulatedClock());
    let workedMs = 0;
    const counted = Object.assign(clock, { cpuTime: () => workedMs });
    const pace = new Pace({ clock: counted, share: () => 0.1, onLate: () => undefined });
    const turns = [1, 2, 3].map((turn) =>
      pace.run(() => {
        workedMs += 5000;
        return turn;
      }),
    );
    await turns[0];
    await Promise.resolve();
    expect(clock.openTimers).toBe(1);
    pace.stop();
    expect(clock.openTimers).toBe(0);
    expect(await Promise.all(turns)).toEqual([1, 2, 3]);
    expect(clock.openTimers).toBe(0);
  });

  it('lets callers that wait take turns, also where work fails', async () => {
    const { clock, pace, work } = setUp(100);
    const done: string[] = [];
    const each = async (name: string): Promise<void> => {
      for (let n = 0; n < 3; n++) {
        await pace.run(() => {
          work();
          done.push(name);
        });
      }
    };
    const failed = pace
      .run(() => {
        throw new Error('no');
      })
      .catch((error: Error) => error.message);
    void each('a');
    void each('b');
    await clock.run(10_000);
    expect(await failed).toBe('no');
    expect(done).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  });
});
