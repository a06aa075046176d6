import { expect, it } from 'vitest';
import { SimulatedClock } from '../../runtime/clock/simulated-clock.ts';
import { VIEWERS_MAX, type ViewerStream, Viewers } from './viewers.ts';

class FakeStream implements ViewerStream {
  readonly messages: string[] = [];
  pendingBytes = 0;
  ended = false;
  #closed: () => void = () => undefined;

  write(text: string): void {
    this.messages.push(text);
  }

  end(): void {
    this.ended = true;
    this.#closed();
  }

  onClose(closed: () => void): void {
    this.#closed = closed;
  }
}

function setUp() {
  const clock = new SimulatedClock();
  const calls: string[] = [];
  const note = (call: string) => () => {
    calls.push(call);
    return { call };
  };
  const source = {
    begin: note('begin'),
    end: note('end'),
    first: note('first'),
    next: note('next'),
  };
  const viewers = new Viewers(clock, source);
  return { clock, calls, viewers };
}

it('[O8] makes one message a second, for all viewers, and none without a viewer', async () => {
  const { clock, calls, viewers } = setUp();
  await clock.run(5000);
  expect(calls).toEqual([]);
  const [one, two] = [new FakeStream(), new FakeStream()];
  viewers.add(one);
  viewers.add(two);
  await clock.run(3100);
  expect(calls).toEqual(['begin', 'first', 'first', 'next', 'next', 'next']);
  expect(one.messages).toEqual([
    'retry: 1000\n\ndata: {"call":"first"}\n\n',
    ...Array.from({ length: 3 }, () => 'data: {"call":"next"}\n\n'),
  ]);
  expect(two.messages).toEqual(one.messages);
  one.end();
  two.end();
  await clock.run(20_000);
  expect(calls.slice(6)).toEqual(['end']);
});

it('[O8] sends nothing more to a viewer that does not read, and drops it after ten seconds', async () => {
  const { clock, viewers } = setUp();
  const [reading, stalled] = [new FakeStream(), new FakeStream()];
  viewers.add(reading);
  viewers.add(stalled);
  stalled.pendingBytes = 1000;
  await clock.run(9500);
  expect(stalled).toMatchObject({ ended: false });
  expect(stalled.messages).toHaveLength(1);
  stalled.pendingBytes = 0;
  await clock.run(10_500);
  expect(stalled.messages).toHaveLength(2);
  stalled.pendingBytes = 1;
  await clock.run(23_000);
  expect(stalled).toMatchObject({ ended: true });
  expect(viewers.count).toBe(1);
  expect(reading.messages.length).toBeGreaterThan(20);
});

it('[O8] refuses viewers beyond the most, until one has left', () => {
  const { viewers } = setUp();
  const streams = Array.from({ length: VIEWERS_MAX }, () => new FakeStream());
  expect(streams.map((stream) => viewers.add(stream))).not.toContain(false);
  expect(viewers.add(new FakeStream())).toBe(false);
  streams[3]?.end();
  expect(viewers.add(new FakeStream())).toBe(true);
});
