import { describe, expect, it } from 'vitest';
import { makeRequest } from '../../test/makers.ts';
import { blocksOf, type SharedPicker, startPicker } from '../../test/replicas/pickers.ts';
import { IDLE_LINK, messageOf } from '../../test/replicas/raw-messages.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Routed } from '../framework/observer.ts';
import type { PromptBlocks } from '../framework/request.ts';
import { Ledger } from '../picker/load/ledger.ts';
import { EndpointPool } from '../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../runtime/seeded-random.ts';
import type { LinkEvents } from './links/link.ts';
import { SimulatedNetwork } from './links/simulated-network.ts';
import { MESSAGE_KIND, TextTable, writeTime } from './messages/message.ts';
import { ByteWriter } from './messages/wire.ts';
import { writePrompt, writeRouted } from './messages/write-entries.ts';
import { Bookings, OPEN_MAX, PEER_OPEN_MAX } from './peers/bookings.ts';
import { isPrefixSharing } from './prefixes/prefix-exchange.ts';
import { Replica } from './replica.ts';

/** Someone who may write to the subject of the replicas, and means harm. */
class Hostile {
  readonly clock = new SimulatedClock();
  readonly network = new SimulatedNetwork({ clock: this.clock, delayMs: 1 });
  readonly picker: SharedPicker;
  readonly received: Uint8Array[] = [];
  readonly #send: (message: Uint8Array) => boolean;
  #sequence = 0;

  constructor() {
    this.picker = startPicker('p0', { clock: this.clock, openLink: this.network.open });
    const link = this.network.open('evil', {
      onMessage: (message) => void this.received.push(message.slice()),
      onConnected: () => undefined,
      onDisconnected: () => undefined,
      onForged: () => undefined,
    });
    this.#send = (message) => link.send(message);
    this.pass(100);
  }

  pass(ms: number): void {
    this.clock.advanceTo(this.clock.now() + ms);
  }

  /** A message of this kind, with what `write` adds to its head. */
  say(kind: number, write: (writer: ByteWriter) => void = () => undefined, id = 'evil'): void {
    this.#sequence += 1;
    this.#send(messageOf({ kind, id, sequence: this.#sequence }, write));
  }

  /** A batch of these entries. */
  batch(write: (writer: ByteWriter, texts: TextTable) => void): void {
    this.say(MESSAGE_KIND.batch, batchOf(write));
  }

  get status() {
    return this.picker.replica.status();
  }
}

const batchOf =
  (write: (writer: ByteWriter, texts: TextTable) => void) =>
  (writer: ByteWriter): void => {
    const texts = new TextTable();
    const entries = new ByteWriter();
    write(entries, texts);
    writer.number(0);
    writeTime(writer, 0);
    texts.write(writer);
    writer.bytes(entries.view());
  };

const promptOf = (count: number, blockTokens = 64): PromptBlocks => ({
  count,
  blockTokens,
  words: new Uint32Array(2 * count),
});

function routedAt(id: string, number: number, prompt = promptOf(0)): Routed {
  const endpoint = { id, address: id } as Endpoint;
  const load = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
  const request = makeRequest({ id: `r${number}`, prompt });
  return { number, request, endpoint, at: 0, cachedTokens: 0, load, firstTokenVisible: true };
}

const KNOWN = '10.0.0.0:8000';

describe('who may write to the subject of the replicas', () => {
  it('[V138] cannot make a picker hold more than so many requests and blocks of prompts', () => {
    const bookings = new Bookings();
    const prompt = promptOf(60_000);
    const held = Array.from({ length: 1000 }, () => bookings.held(prompt).count);
    expect(held.filter((count) => count > 0)).toHaveLength(133);
    for (let n = 0; n < OPEN_MAX; n++) expect(bookings.takesRequest(0)).toBe(true);
    expect(bookings.takesRequest(0)).toBe(false);
    for (const count of held) bookings.release(count);
    expect(bookings.held(prompt).count).toBe(60_000);
  });

  it('[V370] leaves room for the requests of other replicas, however many it claims', () => {
    const bookings = new Bookings();
    let open = 0;
    while (bookings.takesRequest(open)) open += 1;
    expect(open).toBe(PEER_OPEN_MAX);
    expect(bookings.takesRequest(0)).toBe(true);
  });

  it('[V138] has all that it has booked released when it leaves', () => {
    const evil = new Hostile();
    for (let n = 0; n < 20; n++) {
      evil.batch((writer, texts) => {
        const routed = routedAt(KNOWN, n, promptOf(60_000));
        writeRouted(writer, texts, { routed, afterMs: 0, blocks: 60_000 });
        const about = { kind: 'body-read', number: n, promptTokens: 1 } as const;
        writePrompt(writer, { ...about, known: promptOf(0), prompt: promptOf(9) });
      });
      evil.pass(2);
    }
    expect(evil.picker.loads()).toEqual([20, 0, 0, 0]);
    evil.say(MESSAGE_KIND.bye);
    evil.pass(2);
    expect(evil.picker.loads()).toEqual([0, 0, 0, 0]);
  });

  it('[V138] cannot send so many entries in a message that applying them stops decisions', () => {
    const evil = new Hostile();
    evil.batch((writer, texts) => {
      for (let n = 0; n < 10_000; n++) {
        writeRouted(writer, texts, { routed: routedAt(KNOWN, n), afterMs: 0, blocks: 0 });
      }
    });
    evil.pass(2);
    expect(evil.status.received.malformed).toBe(1);
    expect(evil.picker.loads()).toEqual([0, 0, 0, 0]);
  });

  it('[V138] cannot make prompts of this picker forgotten by blocks of another size', () => {
    const evil = new Hostile();
    const { picker } = evil.picker;
    const first = evil.picker.route(blocksOf(40));
    first.done('completed');
    evil.batch((writer, texts) => {
      for (const [n, { id }] of picker.pool.snapshot().entries()) {
        const routed = routedAt(id, n, promptOf(4, 65_536));
        writeRouted(writer, texts, { routed, afterMs: 0, blocks: 4 });
      }
    });
    evil.pass(2);
    const known = picker
      .observers()
      .filter(isPrefixSharing)
      .map((index) => index.size(first.endpoint));
    expect(Math.max(...known)).toBe(40);
  });

  it('[V139] cannot make it send prompts faster than at a bounded rate', () => {
    const evil = new Hostile();
    for (let n = 0; n < 100; n++) evil.picker.route(blocksOf(1000, 1000 * n)).done('completed');
    const knows = evil.picker.replica.status();
    expect(knows.peers).toEqual([]);
    evil.received.length = 0;
    for (let n = 0; n < 3000; n++) {
      evil.say(MESSAGE_KIND.askPrefixes, undefined, `fake-${n % 60}`);
      evil.pass(20);
    }
    const bytes = evil.received.reduce((sum, { length }) => sum + length, 0);
    // Four full indexes of 32 MB in a minute at most.
    expect(bytes).toBeLessThan(150 * 2 ** 20);
  });

  it('[V140] cannot use more than a part of the time, and does not take that of others', () => {
    const clock = new SimulatedClock();
    let tookMs = 0;
    const slow = Object.assign(Object.create(clock) as SimulatedClock, {
      now: () => clock.now() + tookMs,
      setTimer: clock.setTimer.bind(clock),
      wallTime: () => clock.wallTime() + tookMs,
    });
    let link: LinkEvents | undefined;
    const replica = new Replica({
      id: 'p0',
      boot: 1,
      clock: slow,
      openLink: (_id, events) => {
        link = events;
        return IDLE_LINK;
      },
    });
    replica.start({
      pool: new EndpointPool(),
      ledger: new Ledger(),
      observers: () => [],
      elsewhere: {
        // Each batch takes 5 ms.
        events: (apply) => {
          tookMs += 5;
          apply();
        },
        happenedAt: () => undefined,
        ended: () => undefined,
        book: () => {
          throw new Error('no endpoint is known');
        },
      },
    });
    const random = seededRandom(3);
    let others = 0;
    const empty = batchOf(() => undefined);
    for (let sequence = 1; sequence <= 10_000; sequence++) {
      link?.onMessage(messageOf({ kind: MESSAGE_KIND.batch, id: 'evil', sequence }, empty));
      if (random.next() < 0.01) {
        others += 1;
        link?.onMessage(
          messageOf({ kind: MESSAGE_KIND.batch, id: 'good', sequence: others }, empty),
        );
      }
      clock.advanceTo(clock.now() + 1);
    }
    const [bad, good] = replica.status().peers;
    expect(tookMs).toBeLessThan(0.3 * (clock.now() + tookMs) + 200);
    expect(bad?.hurried).toBeGreaterThan(9000);
    expect(good?.hurried).toBe(0);
    void replica.stop();
  });
});
