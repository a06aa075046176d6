import { describe, expect, it } from 'vitest';
import { startPreciseIndex } from '../../../test/support/precise-index.ts';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
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
});
