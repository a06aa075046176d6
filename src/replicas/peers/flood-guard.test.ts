import { describe, expect, it } from 'vitest';
import { messageOf } from '../../../test/replicas/raw-messages.ts';
import { Ledger } from '../../picker/load/ledger.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import type { LinkEvents } from '../links/link.ts';
import { MESSAGE_KIND } from '../messages/message.ts';
import { Replica } from '../replica.ts';
import type { ReplicaNotice } from './peer-status.ts';

/** A replica that gets messages of which each booking or release takes 1 ms. */
class Bed {
  readonly clock = new SimulatedClock();
  readonly notices: ReplicaNotice[] = [];
  readonly pauses: number[] = [];
  workedMs = 0;
  connected = true;
  readonly replica: Replica;
  #link: LinkEvents | undefined;

  constructor() {
    const { clock } = this;
    this.replica = new Replica({
      id: 'p0',
      boot: 1,
      clock: {
        now: () => clock.now(),
        wallTime: () => clock.wallTime(),
        setTimer: (delay, callback) => clock.setTimer(delay, callback),
        cpuTime: () => this.workedMs,
      },
      onNotice: (notice) => void this.notices.push(notice),
      openLink: (_id, events) => {
        this.#link = events;
        return {
          send: () => this.connected,
          pause: () => {
            this.connected = false;
            this.pauses.push(clock.now());
          },
          resume: () => {
            this.connected = true;
            events.onConnected();
          },
          close: () => Promise.resolve(),
        };
      },
    });
    this.replica.start({
      pool: new EndpointPool(),
      ledger: new Ledger(),
      observers: () => [],
      elsewhere: {
        events: (apply) => {
          this.workedMs += 1;
          apply();
        },
        happenedAt: () => undefined,
        ended: () => undefined,
        book: () => {
          throw new Error('no endpoint is known');
        },
      },
    });
    this.#link?.onConnected();
  }

  say(kind: number, boot = 1, id = 'evil'): void {
    if (this.connected) this.#link?.onMessage(messageOf({ kind, id, boot, sequence: 1 }));
  }

  forge(bytes: number): void {
    if (this.connected) this.#link?.onForged(bytes);
  }

  pass(ms: number): void {
    this.clock.advanceTo(this.clock.now() + ms);
  }

  get joined(): number {
    return this.notices.filter(({ kind }) => kind === 'joined').length;
  }
}

describe('who floods the subject of the replicas', () => {
  it.each([
    ['empty messages', (bed: Bed) => bed.say(99), 100],
    ['large messages without the key', (bed: Bed) => bed.forge(700_000), 2],
  ])(
    '[V291] makes a picker leave it, longer each time, rather than receive more: %s',
    (_, send, perMs) => {
      const bed = new Bed();
      for (let at = 0; at < 70_000; at += 10) {
        for (let n = 0; n < 10 * perMs && bed.connected; n++) send(bed);
        bed.pass(10);
      }
      const { received, connected } = bed.replica.status();
      expect(bed.pauses).toHaveLength(4);
      const gaps = bed.pauses.slice(1).map((at, n) => at - (bed.pauses[n] ?? 0));
      expect(gaps.map((gap) => Math.round(gap / 5000) * 5000)).toEqual([5000, 10_000, 20_000]);
      expect(received.flooded).toBe(4);
      expect(received.messages).toBeLessThan(4 * 25_000);
      expect(connected).toBe(bed.connected);
      expect(bed.notices.filter(({ kind }) => kind === 'disconnected')).toHaveLength(4);
    },
  );

  it('[V291] is forgotten after two calm minutes', () => {
    const bed = new Bed();
    const flood = (): void => {
      for (let n = 0; n < 25_000; n++) bed.say(99);
      bed.pass(5000);
    };
    flood();
    expect(bed.connected).toBe(true);
    bed.pass(130_000);
    flood();
    expect(bed.connected).toBe(true);
    expect(bed.pauses).toHaveLength(2);
  });
});

describe('replicas that come and go', () => {
  const WAYS: readonly (readonly [string, (bed: Bed, n: number) => void])[] = [
    ['one that starts anew with each message', (bed, n) => bed.say(99, n)],
    [
      'one that asks what is open and says goodbye',
      (bed, n) => bed.say(n % 2 === 0 ? MESSAGE_KIND.askOpen : MESSAGE_KIND.bye),
    ],
  ];

  it.each(WAYS)('[V292] take a fiftieth of the time at most: %s', (_, say) => {
    const bed = new Bed();
    for (let n = 0; n < 30_000; n++) {
      say(bed, n);
      bed.pass(1);
    }
    expect(bed.workedMs).toBeLessThan(0.02 * bed.clock.now() + 200);
    expect(bed.replica.status().peers.length).toBeLessThanOrEqual(1);
  });

  it('[V292] are all followed where sixty start at once', () => {
    const bed = new Bed();
    for (let n = 0; n < 60; n++) bed.say(MESSAGE_KIND.askOpen, 1, `p${n + 1}`);
    expect(bed.joined).toBe(60);
  });
});
