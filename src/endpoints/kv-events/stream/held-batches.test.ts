import { describe, expect, it } from 'vitest';
import { SimulatedClock } from '../../../runtime/clock/simulated-clock.ts';
import { StreamStats } from '../health/stream-stats.ts';
import { EventStream } from './event-stream.ts';
import { ReplaySlots } from './replay.ts';

/** A publisher's life: batch `n` of life `l` is the bytes [l, n]. */
function payload(sequence: number, life: number): Uint8Array {
  return Uint8Array.of(life, sequence);
}

function open(onRequest: (from: number, stream: EventStream) => void = () => undefined) {
  const clock = new SimulatedClock();
  const stats = new StreamStats();
  const log: string[] = [];
  const asked: number[] = [];
  const stream: EventStream = new EventStream({
    clock,
    stats,
    sink: {
      apply: ([life = 0, sequence = 0]) => log.push(`${life}:${sequence}`) > 0,
      reset: (knowledge) => void log.push(knowledge),
    },
    requestReplay: (from) => {
      asked.push(from);
      onRequest(from, stream);
    },
    replaySlots: new ReplaySlots(8),
  });
  const say = (life: number, ...sequences: readonly number[]): void => {
    for (const each of sequences) stream.message(each, payload(each, life));
  };
  const answer = (life: number, from: number, to: number): void => {
    for (let at = from; at < to; at++) stream.replayed(at, payload(at, life));
    stream.replayEnded();
  };
  return { clock, stats, log, asked, stream, say, answer };
}

describe('batches that are held back', () => {
  it('[V602] are dropped where their publisher may have restarted, and it is asked once', () => {
    const { log, asked, stream, say, answer, clock } = open();
    say(0, 0, 1, 5);
    // The publisher ends, and its successor has published ten batches before we are connected.
    stream.connected();
    expect(asked).toEqual([1, 1]);
    stream.replayed(1, payload(1, 1));
    answer(1, 0, 10);
    say(1, 10);
    clock.advanceTo(60_000);
    expect(asked).toEqual([1, 1, 0]);
    expect(log.filter((each) => each.startsWith('0:'))).toEqual(['0:0', '0:1']);
    expect(log.slice(-11)).toEqual(Array.from({ length: 11 }, (_, at) => `1:${at}`));
  });

  it('[V602] are had again by the replay where only the connection was lost', () => {
    const { log, stream, say, answer, stats } = open();
    say(0, 0, 1, 5);
    stream.connected();
    say(0, 7);
    answer(0, 1, 8);
    expect(log).toEqual(['complete', ...Array.from({ length: 8 }, (_, at) => `0:${at}`)]);
    expect(stats).toMatchObject({ gaps: 1, repairs: 1, drops: 0 });
  });

  it('[V602] that the answer to a replay lacks do not have the publisher asked again without end', () => {
    const { log, asked, say, answer, clock } = open((_from, stream) => {
      if (asked.length > 20) return;
      // It keeps three batches, and one before them comes late.
      clock.setTimer(1, () => {
        stream.message(2, payload(2, 0));
        answer(0, 7, 10);
      });
    });
    say(0, 0, 9);
    clock.advanceTo(20_000);
    expect(asked.length).toBeLessThan(5);
    say(0, 10);
    expect(log.at(-1)).toBe('0:10');
  });

  it('[V602] are passed on where the answer to a replay comes within the request for it', () => {
    const { log, stream, say } = open((from, asking) => {
      for (let at = from; at < 6; at++) asking.replayed(at, payload(at, 0));
      asking.replayEnded();
    });
    say(0, 0, 5, 6);
    expect(log).toEqual(['complete', ...Array.from({ length: 7 }, (_, at) => `0:${at}`)]);
    expect(stream.held).toBe(0);
  });
});
