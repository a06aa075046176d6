import fc from 'fast-check';
import { expect, it } from 'vitest';
import { inLongRuns } from '../../../test/support/long-runs.ts';
import type { Clock, Millis, Timer } from '../../framework/runtime.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import {
  LeaderElection,
  type Lease,
  LeaseRefusedError,
  type LeaseStore,
} from './leader-election.ts';

/** After the timers of the same moment, as a process reads what came after it runs its timers. */
const AFTER_TIMERS_MS: Millis = 0.001;

/** A process that may stand still. Then its timers fire when it runs again, and answers follow. */
class Process implements Clock {
  readonly cpuTime = undefined;
  readonly #shared: SimulatedClock;
  #haltedUntil: Millis = 0;

  constructor(shared: SimulatedClock) {
    this.#shared = shared;
  }

  get isRunning(): boolean {
    return this.#shared.now() >= this.#haltedUntil;
  }

  now(): Millis {
    return this.#shared.now();
  }

  wallTime(): Millis {
    return this.#shared.wallTime();
  }

  setTimer(delay: Millis, callback: () => void): Timer {
    return this.#when(delay, 0, callback);
  }

  /** Something comes after so long, and is read once this process runs. */
  comes(afterMs: Millis, read: () => void): void {
    this.#when(afterMs, AFTER_TIMERS_MS, read);
  }

  halt(ms: Millis): void {
    this.#haltedUntil = Math.max(this.#haltedUntil, this.now() + ms);
  }

  #when(delay: Millis, lateMs: Millis, callback: () => void): Timer {
    let isCancelled = false;
    this.#shared.setTimer(delay, () => {
      const leftMs = this.#haltedUntil + lateMs - this.now();
      if (isCancelled) return;
      if (this.isRunning && leftMs <= 0) callback();
      else this.#when(Math.max(leftMs, lateMs), lateMs, () => isCancelled || callback());
    });
    return { cancel: () => void (isCancelled = true) };
  }
}

/** A Lease at a server that answers slowly, and two candidates for it. */
function twoCandidates(seed: number) {
  const clock = new SimulatedClock();
  let lease: Lease | undefined;
  let version = 0;
  const together: string[] = [];
  const all = [0, 1].map((at) => {
    const process = new Process(clock);
    const server = { requestMs: 2, answerMs: 2, refuses: false };
    const ask = <T>(make: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const { answerMs } = server;
        clock.setTimer(server.requestMs, () => {
          const isRefused = server.refuses;
          const made = isRefused ? undefined : make();
          process.comes(answerMs, () => {
            if (isRefused) reject(new LeaseRefusedError('forbidden'));
            else resolve(made as T);
          });
        });
      });
    const store: LeaseStore = {
      read: () => ask(() => lease),
      write: (record, before) =>
        ask(() => {
          if (lease?.version !== before?.version) return undefined;
          version += 1;
          lease = { ...record, version: String(version) };
          return lease;
        }),
    };
    const changes: string[] = [];
    const election = new LeaderElection({
      store,
      identity: `picker-${at}`,
      clock: process,
      random: seededRandom(seed + at),
      onChange: (leading) => {
        changes.push(`${leading ? 'leads' : 'follows'} at ${Math.round(clock.now())}`);
        look();
      },
      onTrouble: () => undefined,
    });
    return { election, process, server, changes };
  });
  /** One that stands still does nothing, and no harm, whatever it takes itself for. */
  const look = (): void => {
    const leading = all.filter(({ election, process }) => election.leading && process.isRunning);
    if (leading.length > 1) together.push(`at ${clock.now()}`);
  };
  const halt = (at: number, ms: Millis): void => {
    all[at]?.process.halt(ms);
    all[at]?.process.comes(ms, look);
  };
  return { clock, all, together, halt };
}

it('[V580] a leader that is refused slowly gives up before another may begin', async () => {
  const { clock, all, together } = twoCandidates(1);
  await clock.run(30_000);
  const leader = all.find(({ election }) => election.leading);
  const slow = { requestMs: 5, answerMs: 3400 };
  Object.assign(leader?.server ?? {}, slow);
  await clock.run(60_000);
  expect(leader?.election.leading).toBe(true);
  Object.assign(leader?.server ?? {}, { refuses: true });
  await clock.run(90_000);
  expect(together).toEqual([]);
  expect(all.filter(({ election }) => election.leading)).not.toContain(leader);
  expect(leader?.changes).toHaveLength(2);
});

it('[V580] a leader that stood still leads no more once it runs, until it has renewed its lease', async () => {
  const { clock, all, together, halt } = twoCandidates(1);
  await clock.run(30_000);
  const first = all.findIndex(({ election }) => election.leading);
  halt(first, 25_000);
  await clock.run(58_000);
  expect(together).toEqual([]);
  expect(all.map(({ election }) => election.leading)).toEqual([first !== 0, first !== 1]);
});

it('[V580] a leader that stood still for less than its lease goes on leading, without a change', async () => {
  const { clock, all, halt } = twoCandidates(1);
  await clock.run(30_000);
  for (let at = 0; at < 40; at++) {
    for (const [index] of all.entries()) halt(index, 8000);
    await clock.run(clock.now() + 11_137);
  }
  expect(all.flatMap(({ changes }) => changes)).toHaveLength(1);
});

const step = fc.record({
  at: fc.nat({ max: 1 }),
  requestMs: fc.integer({ min: 1, max: 1700 }),
  answerMs: fc.integer({ min: 1, max: 1700 }),
  refuses: fc.boolean(),
  haltMs: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 40_000 })),
  forMs: fc.integer({ min: 1, max: 20_000 }),
});

it.each([20_261_130, ...inLongRuns(1, 2, 3, 4, 5, 6, 7, 8)])(
  '[V580] one leads at most, and in the end one does, whatever is slow or refused or stands still (seed %i)',
  async (seed) => {
    const steps = fc.array(step, { maxLength: 40 });
    const run = fc.asyncProperty(steps, fc.nat({ max: 1e6 }), async (plan, chance) => {
      const { clock, all, together, halt } = twoCandidates(chance);
      for (const { at, haltMs, forMs, ...server } of plan) {
        Object.assign(all[at]?.server ?? {}, server);
        if (haltMs > 0) halt(at, haltMs);
        await clock.run(clock.now() + forMs);
      }
      for (const { server } of all) server.refuses = false;
      await clock.run(clock.now() + 100_000);
      expect(together).toEqual([]);
      expect(all.filter(({ election }) => election.leading)).toHaveLength(1);
    });
    await fc.assert(run, { numRuns: 60, seed });
  },
);
