import { describe, expect, it } from 'vitest';
import { IDLE_LINK, messageOf } from '../../../test/replicas/raw-messages.ts';
import type { Clock } from '../../framework/runtime.ts';
import { Ledger } from '../../picker/load/ledger.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { LinkEvents } from '../links/link.ts';
import { MESSAGE_KIND, readHead, TextTable, writeTime } from '../messages/message.ts';
import { ByteReader, type ByteWriter } from '../messages/wire.ts';
import { Replica } from '../replica.ts';
import { TimeShare } from './time-share.ts';

describe('a replica on a machine that is busy with other work', () => {
  it('[V271] leaves out no message because others had the processor meanwhile', () => {
    const clock = new SimulatedClock();
    let cpuMs = 0;
    const busy: Clock = {
      now: () => clock.now(),
      wallTime: () => clock.wallTime(),
      setTimer: (delay, callback) => clock.setTimer(delay, callback),
      cpuTime: () => cpuMs,
    };
    const time = new TimeShare(busy, 0.1);
    const work = (): void => {
      cpuMs += 1;
      // Seen from outside, a millisecond of work takes 50.
      clock.advanceTo(clock.now() + 50);
    };
    const done = Array.from({ length: 100 }, () => time.run(work));
    expect(done).not.toContain(false);
    const hog = new TimeShare(clock, 0.1);
    const byTheWall = Array.from({ length: 100 }, () => hog.run(work));
    expect(byTheWall.filter((each) => !each).length).toBeGreaterThan(80);
  });
});

describe('a new replica whose time for messages is used up', () => {
  it('[V272] asks again for the prompts that it has not taken in, three times at most', () => {
    const clock = new SimulatedClock();
    let cpuMs = 0;
    const asked: number[] = [];
    let link: LinkEvents | undefined;
    const replica = new Replica({
      id: 'new',
      boot: 1,
      clock: {
        now: () => clock.now(),
        wallTime: () => clock.wallTime(),
        setTimer: (delay, callback) => clock.setTimer(delay, callback),
        cpuTime: () => cpuMs,
      },
      openLink: (_id, events) => {
        link = events;
        const send = (message: Uint8Array): boolean => {
          const { kind } = readHead(new ByteReader(message));
          if (kind === MESSAGE_KIND.askPrefixes) asked.push(clock.now());
          return true;
        };
        return { ...IDLE_LINK, send };
      },
    });
    replica.start({
      pool: new EndpointPool(),
      ledger: new Ledger(),
      observers: () => [],
      elsewhere: {
        // Each message takes two seconds, and so all the time that there is.
        events: () => {
          cpuMs += 2000;
        },
        happenedAt: () => undefined,
        ended: () => undefined,
        book: () => {
          throw new Error('no endpoint is known');
        },
      },
    });
    link?.onConnected();
    const open = (writer: ByteWriter): void => {
      for (const number of [0, 0, 0, 10]) writer.number(number);
      writeTime(writer, 0);
      new TextTable().write(writer);
      writer.bytes(new Uint8Array());
    };
    const say = (kind: number, sequence: number, write: (writer: ByteWriter) => void): void =>
      link?.onMessage(messageOf({ kind, id: 'old', sequence }, write));
    for (let n = 0; n < 6; n++) {
      say(MESSAGE_KIND.open, 2 * n, open);
      say(MESSAGE_KIND.prefixes, 2 * n + 1, () => undefined);
      // Long enough for the time to be there again, short enough for the peer not to be gone.
      for (let step = 0; step < 10; step++) {
        clock.advanceTo(clock.now() + 2500);
        say(MESSAGE_KIND.bye + 100, 0, () => undefined);
      }
    }
    expect(asked).toHaveLength(3);
    void replica.stop();
  });
});
