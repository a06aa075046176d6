import { encode } from '@msgpack/msgpack';
import { describe, expect, it } from 'vitest';
import { sequenceBytes, startPreciseIndex } from '../../../test/support/precise-index.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { chainKeys } from './blocks/token-chain.ts';
import { SlicedWork } from './sliced-work.ts';

/** A batch of so many events of a block of one token, which are applied in several slices. */
const large = (events: number, from = 0): readonly unknown[] =>
  Array.from({ length: events }, (_, at) => [
    'BlockStored',
    [from + at + 1],
    at === 0 ? null : from + at,
    [at],
    1,
  ]);
const A = 'tcp://10.0.0.1:5557';
const EVENTS = 5000;

function setUp() {
  const { add, publisher, index, clock, lines } = startPreciseIndex();
  const endpoint = add('10.0.0.1');
  const size = (): number => index.size(endpoint);
  return { publish: publisher(A), index, endpoint, clock, lines, size };
}

describe('a large batch of KV events', () => {
  it('[D133] is applied in slices, and what comes meanwhile after it', () => {
    const { publish, clock, size } = setUp();
    publish(...large(EVENTS));
    publish(['BlockRemoved', [EVENTS]], ['BlockStored', [9_000_001], null, [1], 1]);
    const sizes = [size()];
    while (clock.step()) sizes.push(size());
    expect(sizes.length).toBeGreaterThan(4);
    expect(sizes).toEqual(sizes.toSorted((a, b) => a - b));
    expect(sizes[0]).toBeLessThan(EVENTS / 4);
    // One block is removed and one is added behind the large batch.
    expect(size()).toBe(EVENTS);
  });

  it('[D133] voids what is known where a late event cannot be read', () => {
    const { publish, clock, size, index, endpoint, lines } = setUp();
    publish(...large(100));
    publish(...large(EVENTS, 1000), ['BlockStored', 'no list', null, [], 1]);
    publish(...large(3, 7_000_000));
    while (clock.step()) continue;
    expect(size()).toBe(3);
    expect(index.events(endpoint)?.stats).toMatchObject({ malformed: 1, batches: 2 });
    expect(lines).toEqual([expect.stringContaining('not-a-batch')]);
  });

  it('[V603] is applied in slices where it has one event, also beside that of another endpoint', () => {
    const { add, publisher, index, clock } = startPreciseIndex();
    const names = ['10.0.0.1', '10.0.0.2'];
    const endpoints = names.map((name) => add(name));
    const ids = Array.from({ length: 20_000 }, (_, at) => at + 1);
    for (const name of names) publisher(`tcp://${name}:5557`)(['BlockStored', ids, null, ids, 1]);
    const sizes = endpoints.map((each) => [index.size(each)]);
    while (clock.step()) endpoints.forEach((each, at) => sizes[at]?.push(index.size(each)));
    for (const each of sizes) {
      expect(each.length).toBeGreaterThan(5);
      expect(each[0]).toBeLessThan(ids.length / 4);
      expect(each.at(-1)).toBe(ids.length);
    }
    const { chain } = index.subscriptions;
    const keys = chainKeys(chain, ids, { blockTokens: 1, root: '', salt: '' });
    for (const each of endpoints)
      expect(index.events(each)?.view.match(keys, ids.length)).toBe(ids.length);
  });

  it('[V605] within a replay does not have the publisher asked again, though it takes longer than a replay may pause', () => {
    const { add, sockets, index, clock } = startPreciseIndex({
      kvEventsConfig: {
        maxBatchElements: 1_000_000,
        podDiscoveryConfig: { replaySocketPort: 5558 },
      },
    });
    const endpoint = add('10.0.0.1');
    const [events] = sockets;
    const dealers = () => sockets.filter(({ kind }) => kind === 'dealer');
    const one = encode([1, [['BlockStored', [1], null, [1], 1]], 0]);
    const many = encode([2, Array.from({ length: 300_000 }, () => ['AllBlocksCleared']), 0]);
    events?.onConnected?.();
    dealers()[0]?.onMessage([sequenceBytes(0), one]);
    dealers()[0]?.onMessage([sequenceBytes(1), many]);
    dealers()[0]?.onMessage([sequenceBytes(0), new Uint8Array()]);
    events?.onMessage([new Uint8Array(), sequenceBytes(2), one]);
    clock.advanceTo(10_000);
    expect(dealers()).toHaveLength(1);
    expect(index.events(endpoint)).toMatchObject({ held: 0, stats: { restarts: 0, drops: 0 } });
    expect(index.size(endpoint)).toBe(1);
  });

  it('[V603] of removals alone is applied in slices, too', () => {
    const { publish, clock, size } = setUp();
    const ids = Array.from({ length: 20_000 }, (_, at) => at + 1);
    publish(['BlockStored', ids, null, ids, 1]);
    while (clock.step()) continue;
    publish(['BlockRemoved', ids]);
    expect(size()).toBeGreaterThan(ids.length / 2);
    while (clock.step()) continue;
    expect(size()).toBe(0);
  });

  it('[D133] leaves nothing behind of an endpoint that is removed meanwhile', () => {
    const { publish, clock, index, endpoint, size } = setUp();
    publish(...large(EVENTS));
    publish(...large(3, 7_000_000));
    index.onEndpointRemoved(endpoint);
    while (clock.step()) continue;
    expect(size()).toBe(0);
  });
});

describe('sliced work', () => {
  it('[D133] is finished at once when what waits would take too much memory', () => {
    const done: string[] = [];
    const work = new SlicedWork(new SimulatedClock(), () => undefined);
    function* slices(): Generator<void, void> {
      for (let slice = 0; slice < 3; slice++) {
        done.push(`slice ${slice}`);
        yield;
      }
    }
    work.start(slices());
    work.enter(() => done.push('first'), 1024);
    expect(done).toEqual(['slice 0']);
    work.enter(() => done.push('second'), 16 * 1024 * 1024);
    expect(done).toEqual(['slice 0', 'slice 1', 'slice 2', 'first', 'second']);
    expect(work.waiting).toBe(0);
  });

  it('[V604] holds a bounded number of calls that keep nothing, and calls each once, in order', () => {
    const work = new SlicedWork(new SimulatedClock(), () => undefined);
    function* slices(): Generator<void, void> {
      yield;
    }
    work.start(slices());
    let called = 0;
    let most = 0;
    for (let call = 0; call < 200_000; call++) {
      work.enter(() => {
        if (called === call) called += 1;
      });
      most = Math.max(most, work.waiting);
    }
    expect(most).toBeGreaterThan(10_000);
    expect(most).toBeLessThan(100_000);
    expect(called).toBe(200_000);
  });

  it('[V605] has timers that wait for it and for the calls before them, unless they are cancelled', () => {
    const clock = new SimulatedClock();
    const work = new SlicedWork(clock, () => undefined);
    const done: string[] = [];
    const timers = work.inTurn();
    function* slices(): Generator<void, void> {
      yield;
      yield;
      done.push('work');
    }
    work.start(slices());
    const late = timers.setTimer(1, () => done.push('late'));
    timers.setTimer(2, () => done.push('timer'));
    work.enter(() => {
      done.push('call');
      late.cancel();
    });
    clock.advanceTo(5);
    expect(done).toEqual([]);
    clock.advanceTo(100);
    expect(done).toEqual(['work', 'call', 'timer']);
    timers.setTimer(1, () => done.push('soon'));
    clock.advanceTo(101);
    expect(done.at(-1)).toBe('soon');
  });
});
