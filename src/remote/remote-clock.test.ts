import { expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { drawnBelow } from '../../test/support/drawn.ts';
import { A, B, encoded, WELCOME } from '../../test/support/remote-bed.ts';
import { UnsteadyClock } from '../../test/support/unsteady-clock.ts';
import type { CallOptions, Random, Runtime } from '../framework/runtime.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import { RemoteScheduler } from './remote-scheduler.ts';

const CANDIDATES = { endpoints: [A, B], all: true };

/** A scheduler that answers within the call that asks it, later, twice, never, or goes. */
class MoodyScheduler {
  readonly #random: Random;
  readonly #clock: UnsteadyClock;
  #asked: string[] = [];
  /** Calls that are open, which must be one at most. */
  openCalls = 0;
  isCalm = false;

  constructor(random: Random, clock: UnsteadyClock) {
    this.#random = random;
    this.#clock = clock;
  }

  readonly openCall: NonNullable<Runtime['network']['openCall']> = ({
    onMessage,
    onClosed,
  }: CallOptions) => {
    let isOpen = true;
    this.openCalls += 1;
    const say = (message: object): void => {
      if (isOpen) onMessage(encoded(message));
    };
    const close = (reason: string): void => {
      if (!isOpen || this.isCalm) return;
      isOpen = false;
      this.openCalls -= 1;
      onClosed(reason);
    };
    const { below } = this;
    let hasGreeted = false;
    this.#clock.setTimer(below(300), () => {
      hasGreeted = true;
      say({ welcome: WELCOME });
    });
    return {
      send: () => {
        for (const id of this.#asked.splice(0)) {
          if (!hasGreeted) continue;
          const decisions = [{ id, targets: [{ slot: below(2), score: 1 }] }];
          const answer = (): void => say({ decisions });
          if (below(20) === 0) answer();
          if (below(20) > 0) this.#clock.setTimer(below(8), answer);
        }
        if (below(100) === 0) close('it goes within the call');
        if (below(200) === 0) this.#clock.setTimer(below(20), () => close('it goes'));
      },
      waitingBytes: () => (!this.isCalm && below(300) === 0 ? 5_000_000 : 0),
      close: () => {
        if (isOpen) this.openCalls -= 1;
        isOpen = false;
      },
    };
  };

  /** It will find this request in the next message. */
  expect(id: string): void {
    this.#asked.push(id);
  }

  readonly below = (bound: number): number => drawnBelow(this.#random, bound);
}

it.each([
  [1, 'busy', 0],
  [2, 'usual', 2],
  [3, 'still', 0],
  [4, 'busy', 1],
  // It goes within the call that greets it.
  [94, 'busy', 0],
] as const)(
  '[V534] a scheduler in another process makes each request wait once at most, and is connected to again, seed %i, clock %s, window %i ms',
  (seed, pace, batchWindowMs) => {
    const random = seededRandom(seed);
    const clock = new UnsteadyClock(random.fork('clock'));
    clock.pace = pace;
    const peer = new MoodyScheduler(random.fork('moods'), clock);
    const network = { get: () => Promise.reject(new Error('none')), openCall: peer.openCall };
    const rest = { address: 'x:1', headers: [], tls: undefined };
    const scheduler = new RemoteScheduler(
      { ...rest, deadlineMs: 5, batchWindowMs },
      { runtime: { clock, random, network }, now: () => clock.now() },
    );
    for (const endpoint of [A, B]) scheduler.onEndpointAdded(endpoint);
    const waiting = new Map<string, number>();
    const faults: string[] = [];
    let waited = 0;
    let openMax = 0;
    for (let n = 0; n < 2000; n++) {
      const id = `r${n}`;
      let isWithin = true;
      peer.expect(id);
      const waits = scheduler.prepare(makeRequest({ id }), CANDIDATES, () => {
        if (isWithin) faults.push(`${id} was ready within the call`);
        if (!waiting.delete(id)) faults.push(`${id} was ready though it did not wait`);
      });
      isWithin = false;
      if (waits) waiting.set(id, n);
      waited += Number(waits);
      openMax = Math.max(openMax, peer.openCalls);
      clock.advanceBy(60 * random.next());
    }
    clock.pace = 'steady';
    peer.isCalm = true;
    clock.advanceBy(20_000);
    expect([faults, [...waiting.keys()], scheduler.status().unanswered]).toEqual([[], [], 0]);
    expect([openMax, scheduler.status().connected]).toEqual([1, true]);
    expect(waited).toBeGreaterThan(15);
    scheduler.stop();
  },
);
