import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { makeEndpoint } from '../../../test/makers.ts';
import type { MessageSocket, MessageSocketOptions } from '../../framework/runtime.ts';
import { KeyedHash } from '../../framework/values/keyed-hash.ts';
import { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../runtime/seeded-random.ts';
import { ResidentBlocks } from './blocks/resident-blocks.ts';
import { logEventTroubles } from './health/log-event-troubles.ts';
import { type PrecisePrefixIndex, precisePrefixProducer } from './precise-prefix-producer.ts';

/** 60 lists in each other that announce 16 million elements each. */
const BOMB = Uint8Array.from(Array.from({ length: 60 }, () => [0xdd, 0, 0xf4, 0x24, 0]).flat());

function setUp(parameters: unknown = {}) {
  const pool = new EndpointPool();
  const lines: string[] = [];
  const counted: string[] = [];
  const sockets: MessageSocketOptions[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(`${level} ${message} ${Object.values(fields).join(' ')}`);
  const openMessages = (options: MessageSocketOptions): MessageSocket => {
    sockets.push(options);
    return { send: () => undefined, close: () => undefined };
  };
  const network = { get: () => Promise.reject(new Error('not asked')), openMessages };
  const runtime = { clock: new SimulatedClock(), random: seededRandom(1), network };
  const index = precisePrefixProducer.start(precisePrefixProducer.config.parse(parameters), {
    name: 'precise',
    pool,
    runtime,
  }) as PrecisePrefixIndex;
  logEventTroubles(pool, {
    log: { warn: write('warn'), error: write('error') },
    clock: runtime.clock,
    onDropped: (reason) => counted.push(reason),
    onSocketFailed: () => counted.push('socket'),
  });
  const engine = (name: string) => {
    const endpoint = makeEndpoint(name, { slot: sockets.length });
    index.onEndpointAdded(endpoint);
    const socket = sockets.at(-1) as MessageSocketOptions;
    let sequence = 0;
    const send = (payload: Uint8Array): void => {
      const number = new Uint8Array(8);
      new DataView(number.buffer).setBigUint64(0, BigInt(sequence++));
      socket.onMessage([Buffer.from('kv@pod@m'), number, payload]);
    };
    const publish = (...events: readonly unknown[]): void => send(encode([1, events, 0]));
    return { endpoint, socket, send, publish };
  };
  return { index, lines, counted, engine, sockets };
}

/** `count` blocks of one token each, of one chain. */
const chain = (count: number, from = 0): unknown => {
  const numbers = Array.from({ length: count }, (_, at) => from + at);
  return ['BlockStored', numbers, null, numbers, 1];
};

describe('a hostile engine', () => {
  it('[V53] loses its own events only, and is logged once for each reason', () => {
    const { index, lines, counted, engine } = setUp();
    const [bad, good] = [engine('bad'), engine('good')];
    good.publish(chain(3));
    bad.publish(chain(5));
    for (let round = 0; round < 100; round++) bad.send(BOMB);
    bad.send(encode('no batch'));
    expect(counted).toEqual([...Array(100).fill('truncated'), 'not-a-batch']);
    expect(lines).toHaveLength(2);
    expect(lines[0]).toMatch(/^warn .*dropped.* bad .*truncated it announces more than its 300/);
    expect([index.size(bad.endpoint), index.size(good.endpoint)]).toEqual([0, 3]);
    bad.publish(chain(4));
    expect(index.size(bad.endpoint)).toBe(4);
  });

  it('[V58] with endless blocks leaves room for those of other endpoints', () => {
    const size = 3000;
    const { index, engine } = setUp({
      indexerConfig: { kvBlockIndexConfig: { inMemoryConfig: { size } } },
    });
    const bad = engine('bad');
    for (let round = 0; round < 50; round++) bad.publish(chain(200, 200 * round));
    expect(index.size(bad.endpoint)).toBe((2 * size) / 3);
    const good = engine('good');
    good.publish(chain(500));
    expect(index.size(good.endpoint)).toBe(500);
    // What it gives back, others can have.
    bad.publish(['AllBlocksCleared']);
    good.publish(chain(1500, 500));
    expect(index.size(good.endpoint)).toBe(2000);
  });

  it('[V58] cannot choose hashes that make looking them up slow', () => {
    // For each possible low word the former spreading had a known high word that undoes it.
    const room = { left: 100_000 };
    const blocks = new ResidentBlocks(room, new KeyedHash(5));
    const lows = new Set<number>();
    for (let high = 0; high < 4096; high++) {
      const low = Math.imul(high, 0x85ebca6b) >>> 0;
      const block = blocks.add({ low, high }, { low: high, high: 1 }, -1);
      lows.add(blocks.slotWord(block) & 0xfff);
    }
    // As many of 4,096 slots as chance would take: 63 %.
    expect(lows.size / 4096).toBeGreaterThan(0.6);
  });

  it('[V51] keeps no long topic as the name of its model', () => {
    const { index, engine } = setUp();
    const { socket, endpoint } = engine('bad');
    const topic = Buffer.from(`kv@pod@${'m'.repeat(50_000)}`);
    socket.onMessage([topic, new Uint8Array(8), encode([1, [chain(1)], 0])]);
    expect(index.size(endpoint)).toBe(1);
    expect(index.events(endpoint)?.model).toBeUndefined();
  });

  it('[V54] says which address it cannot listen at', () => {
    const { sockets, lines, counted } = setUp({
      kvEventsConfig: { zmqEndpoint: 'tcp://*:5557', discoverPods: false },
    });
    sockets[0]?.onFailed?.('cannot listen at tcp://*:5557: Address already in use');
    expect(counted).toEqual(['socket']);
    expect(lines[0]).toMatch(/^error .*failed tcp:\/\/\*:5557 .*already in use/);
  });

  it.each(['tcp://5557', 'http://a:1', '*:5557', 'tcp://*:port'])(
    '[V54] refuses %s as an address to listen at',
    (zmqEndpoint) => {
      const parameters = { kvEventsConfig: { zmqEndpoint } };
      expect(() => precisePrefixProducer.config.parse(parameters)).toThrow('tcp://*:5557');
    },
  );
});
