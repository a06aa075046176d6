import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { UnsteadyClock } from '../../../../test/support/unsteady-clock.ts';
import type { Clock } from '../../../framework/runtime.ts';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../runtime/seeded-random.ts';
import { StreamStats } from '../health/stream-stats.ts';
import { EventStream } from './event-stream.ts';
import { ReplaySlots } from './replay.ts';

/** A publisher's life: batch `n` of life `l` is the bytes [l, n low, n high]. */
function payload(sequence: number, life = 0): Uint8Array {
  return Uint8Array.of(life, sequence & 0xff, sequence >> 8);
}

function advance(clock: SimulatedClock, delayMs: number): void {
  const until = clock.now() + delayMs;
  clock.setTimer(delayMs, () => undefined);
  while (clock.step(until)) continue;
}

function open(options: { replay?: boolean; slots?: ReplaySlots } = {}) {
  return openBy(new SimulatedClock(), options);
}

/** Its time may pass without any timer, as where the process stands still. */
function openUnsteady() {
  const clock = new UnsteadyClock(seededRandom(1));
  clock.pace = 'still';
  return openBy(clock);
}

function openBy<C extends Clock>(clock: C, { replay = true, slots = new ReplaySlots(8) } = {}) {
  const stats = new StreamStats();
  const log: string[] = [];
  const asked: number[] = [];
  const stream = new EventStream({
    clock,
    stats,
    sink: {
      apply: ([life = 0, low = 0, high = 0]) => {
        log.push(`${life}:${low + 256 * high}`);
        return life !== 0xff;
      },
      reset: (knowledge) => log.push(knowledge === 'complete' ? 'complete' : 'reset'),
    },
    requestReplay: replay ? (from) => void asked.push(from) : undefined,
    replaySlots: slots,
  });
  const say = (...sequences: readonly number[]): void => {
    for (const sequence of sequences) stream.message(sequence, payload(sequence));
  };
  const replayFrom = (from: number, to: number, life = 0): void => {
    for (let at = from; at < to; at++) stream.replayed(at, payload(at, life));
    stream.replayEnded();
  };
  return { clock, stats, log, asked, stream, say, replayFrom };
}

describe('an event stream', () => {
  it('[E1] passes batches on in order, once each', () => {
    const { log, say, stats } = open();
    say(0, 1, 2, 1, 2, 3);
    expect(log).toEqual(['complete', '0:0', '0:1', '0:2', '0:3']);
    expect(stats.duplicates).toBe(2);
  });

  it('[E2] closes a gap from the replay socket, holding back what came after it', () => {
    const { log, say, asked, replayFrom, stats } = open();
    say(0, 1, 5, 6);
    expect(asked).toEqual([1]);
    expect(log).toEqual(['complete', '0:0', '0:1']);
    replayFrom(1, 7);
    say(7);
    expect(log.slice(3)).toEqual(['0:2', '0:3', '0:4', '0:5', '0:6', '0:7']);
    expect(stats).toMatchObject({ gaps: 1, repairs: 1, drops: 0, restarts: 0 });
  });

  it('[E3] gives up all it knew where a gap cannot be closed, and goes on', () => {
    const { log, say, stats } = open({ replay: false });
    say(0, 1, 5, 6);
    expect(log).toEqual(['complete', '0:0', '0:1', 'reset', '0:5', '0:6']);
    expect(stats).toMatchObject({ gaps: 1, drops: 1, repairs: 0 });
  });

  it('[E3] gives up what it knew when the publisher no longer has what is missing', () => {
    const { log, say, replayFrom, stats } = open();
    say(0, 1, 9);
    replayFrom(5, 10);
    expect(log.slice(3)).toEqual(['reset', '0:5', '0:6', '0:7', '0:8', '0:9']);
    expect(stats.drops).toBe(1);
  });

  it('[E3] gives up after three replays without the missing batches, and does not ask again for half a minute', () => {
    const { log, say, asked, clock, stats } = open();
    say(0, 4);
    advance(clock, 10_000);
    expect(asked).toEqual([0, 0, 0]);
    expect(log).toEqual(['complete', '0:0', 'reset', '0:4']);
    expect(stats.drops).toBe(1);
    say(8);
    expect(asked).toHaveLength(3);
    advance(clock, 40_000);
    say(12);
    expect(asked).toHaveLength(4);
  });

  it('[V600] goes on with a replay when the process has stood still for longer than its limit', () => {
    const { clock, say, asked, log, stats, stream, replayFrom } = openUnsteady();
    say(0, 4);
    expect(asked).toEqual([0]);
    clock.pass(10 * 60_000);
    clock.advanceBy(200);
    expect(asked).toEqual([0, 0]);
    replayFrom(0, 4);
    expect(log).toEqual(['complete', '0:0', '0:1', '0:2', '0:3', '0:4']);
    expect([stats.drops, stream.heldBytes]).toEqual([0, 0]);
  });

  it('[V600] gives up a replay that takes longer than two minutes while the process runs', () => {
    const { clock, say, asked, stats, stream } = openUnsteady();
    say(0, 100);
    // Each answer brings one batch and stops.
    for (let at = 1; at < 100 && stats.drops === 0; at++) {
      stream.replayed(at, payload(at));
      clock.advanceBy(2200);
    }
    expect(stats.drops).toBe(1);
    expect(clock.at).toBeGreaterThanOrEqual(120_000);
    expect(asked.length).toBeGreaterThan(50);
  });

  it('[E4] notices a restarted publisher by a known number with other content', () => {
    const { log, stream, say, stats } = open();
    say(0, 1, 2);
    stream.message(0, payload(0, 1));
    stream.message(1, payload(1, 1));
    expect(log.slice(4)).toEqual(['reset', 'complete', '1:0', '1:1']);
    expect(stats.restarts).toBe(1);
  });

  it('[E4] asks a publisher met in the middle of a new life for its beginning', () => {
    const { log, stream, say, asked, replayFrom } = open();
    say(0, 1, 2, 3);
    stream.message(2, payload(2, 1));
    expect(asked).toEqual([0]);
    replayFrom(0, 3, 1);
    expect(log.slice(5)).toEqual(['reset', 'complete', '1:0', '1:1', '1:2']);
  });

  it('[E4] sees at a new connection that the publisher has restarted, even at the number expected', () => {
    const { log, stream, say, asked, replayFrom } = open();
    say(0, 1, 2);
    stream.connected();
    // Meanwhile the new life has got to number 3, which is the one expected.
    stream.message(3, payload(3, 1));
    expect(asked).toEqual([2]);
    stream.replayed(2, payload(2, 1));
    expect(asked).toEqual([2, 0]);
    replayFrom(0, 4, 1);
    expect(log.slice(4)).toEqual(['reset', 'complete', '1:0', '1:1', '1:2', '1:3']);
  });

  it('[E4] takes a publisher that lacks even our last batch for a restarted one', () => {
    const { log, stream, say, asked, replayFrom } = open();
    say(0, 1, 2);
    stream.connected();
    stream.replayEnded();
    expect(asked).toEqual([2, 0]);
    replayFrom(0, 1, 1);
    expect(log.slice(4)).toEqual(['reset', 'complete', '1:0']);
  });

  it('[E5] is complete for a publisher that has sent nothing yet, and partial for one met late', () => {
    const first = open();
    first.stream.connected();
    first.stream.replayEnded();
    expect(first.log).toEqual(['complete']);
    const late = open({ replay: false });
    late.say(7, 8);
    expect(late.log).toEqual(['reset', '0:7', '0:8']);
    expect(late.stats.drops).toBe(0);
    const ring = open();
    ring.say(7);
    ring.replayFrom(3, 8);
    expect(ring.log).toEqual(['reset', '0:3', '0:4', '0:5', '0:6', '0:7']);
  });

  it('[E6] holds back no more than its bound while a gap is open', () => {
    const { stream, say, stats, log } = open();
    say(0);
    for (let at = 2; at < 40; at++) stream.message(at, new Uint8Array(1024 * 1024).fill(at));
    expect(stats.drops).toBe(1);
    expect(stream.heldBytes).toBe(0);
    expect(log.at(-1)).not.toBe('reset');
  });

  it('[E6] waits for its turn when too many replays are under way', () => {
    const slots = new ReplaySlots(1);
    const one = open({ slots });
    const two = open({ slots });
    one.say(0, 2);
    two.say(0, 2);
    expect([one.asked, two.asked]).toEqual([[0], []]);
    one.replayFrom(0, 3);
    advance(two.clock, 1000);
    expect(two.asked).toEqual([0]);
  });

  it('[E7] gives up what it knew when a batch cannot be read', () => {
    const { stream, say, log, stats } = open();
    say(0);
    stream.message(1, payload(1, 0xff));
    say(2);
    expect(log).toEqual(['complete', '0:0', '255:1', 'reset', '0:2']);
    expect(stats.malformed).toBe(1);
  });

  it('[E1] [E2] [E4] ends up with every batch of the last life, in order, whatever was lost, late or twice', () => {
    // Each step: publish some, deliver them with losses, swaps and doubles; maybe restart.
    const step = fc.record({
      count: fc.integer({ min: 1, max: 6 }),
      lost: fc.array(fc.nat(5), { maxLength: 3 }),
      swap: fc.boolean(),
      twice: fc.boolean(),
      restart: fc.constantFrom(false, false, false, true),
    });
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        const clock = new SimulatedClock();
        let life = 1;
        let published = 0;
        let folded: string[] = [];
        const requests: number[] = [];
        const stream = new EventStream({
          clock,
          stats: new StreamStats(),
          sink: {
            apply: ([from = 0, low = 0]) => folded.push(`${from}:${low}`) > 0,
            reset: () => {
              folded = [];
            },
          },
          requestReplay: (from) => void requests.push(from),
          replaySlots: new ReplaySlots(8),
        });
        const serve = (): void => {
          for (let from = requests.pop(); from !== undefined; from = requests.pop()) {
            requests.length = 0;
            const latest = life;
            for (let at = from; at < published && requests.length === 0; at++) {
              stream.replayed(at, payload(at, latest));
            }
            if (requests.length === 0) stream.replayEnded();
          }
        };
        for (const { count, lost, swap, twice, restart } of steps) {
          if (restart) {
            life += 1;
            published = 0;
            stream.connected();
            serve();
          }
          const numbers = Array.from({ length: count }, (_, at) => published + at);
          published += count;
          const arriving = numbers.filter((_, at) => !lost.includes(at));
          if (swap) arriving.reverse();
          for (const at of twice ? [...arriving, ...arriving] : arriving) {
            stream.message(at, payload(at, life));
          }
          serve();
        }
        stream.message(published, payload(published, life));
        serve();
        const all = Array.from({ length: published + 1 }, (_, at) => `${life}:${at}`);
        expect(folded).toEqual(all);
      }),
      { numRuns: 500, seed: 20_260_101 },
    );
  });
});
