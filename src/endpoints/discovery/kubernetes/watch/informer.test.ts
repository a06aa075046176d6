import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeResource } from '../../../../../test/support/kubernetes/fake-resource.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { Informer, type WatchObserver } from './informer.ts';
import type { KubeObject } from './kube-objects.ts';

interface Thing extends KubeObject {
  readonly value: number;
}

function setUp() {
  const clock = new SimulatedClock();
  const server = new FakeResource<Thing>(clock);
  const seen: { objects: ReadonlyMap<string, Thing>; troubles: string[] } = {
    objects: new Map(),
    troubles: [],
  };
  const start = (): Informer<Thing> =>
    new Informer({
      source: server,
      clock,
      random: seededRandom(1),
      observer: {
        onChange: (objects) => {
          seen.objects = new Map(objects);
        },
        onTrouble: (sentence) => void seen.troubles.push(sentence),
      },
    });
  return { clock, server, seen, start };
}

const values = (objects: ReadonlyMap<string, Thing>): object =>
  Object.fromEntries(
    [...objects.values()]
      .map(({ metadata = {}, value }): [string, number] => [metadata.name ?? '', value])
      .sort(([a], [b]) => a.localeCompare(b)),
  );

describe('Informer', () => {
  it('ends in exactly the state of a fresh list, whatever happens, is cut or compacted', async () => {
    const step = fc.oneof(
      {
        weight: 10,
        arbitrary: fc.record({ do: fc.constant('put'), name: fc.nat(30), value: fc.nat() }),
      },
      { weight: 6, arbitrary: fc.record({ do: fc.constant('remove'), name: fc.nat(30) }) },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('wait'), ms: fc.nat(3000) }) },
      {
        weight: 3,
        arbitrary: fc.record({ do: fc.constantFrom('cut', 'compact', 'down', 'up', 'bookmark') }),
      },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 300 }), async (steps) => {
        const { clock, server, seen, start } = setUp();
        for (let at = 0; at < 10; at++) server.put(String(at), { value: at });
        const informer = start();
        await clock.run(10);
        for (const each of steps) {
          if (each.do === 'put' && 'value' in each)
            server.put(String(each.name), { value: each.value });
          else if (each.do === 'remove' && 'name' in each) server.remove(String(each.name));
          else if (each.do === 'wait' && 'ms' in each) await clock.run(clock.now() + each.ms);
          else if (each.do === 'cut') server.cut();
          else if (each.do === 'compact') server.compact();
          else if (each.do === 'bookmark') server.bookmark();
          else if (each.do === 'up') server.up = true;
          else {
            server.up = false;
            server.cut();
          }
        }
        server.up = true;
        await clock.run(clock.now() + 60_000);
        expect(values(seen.objects)).toEqual(values(server.objects));
        expect(informer.synced).toBe(true);
        informer.stop();
      }),
      { numRuns: 60 },
    );
  });

  it('keeps the last state while the server is away, and says how old it is', async () => {
    const { clock, server, seen, start } = setUp();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(100);
    expect(informer.ageMs).toBe(0);
    server.up = false;
    server.cut();
    await clock.run(clock.now() + 30_000);
    expect(values(seen.objects)).toEqual({ a: 1 });
    expect(informer.ageMs).toBeGreaterThan(25_000);
    expect(seen.troubles).toContain('connection refused');
    informer.stop();
  });

  it('backs off from a server that refuses, to one try in ten seconds', async () => {
    const { clock, server, start } = setUp();
    server.up = false;
    const informer = start();
    await clock.run(100_000);
    expect(server.lists).toBeGreaterThan(12);
    expect(server.lists).toBeLessThan(30);
    informer.stop();
  });

  it('does not list again where a watch merely ended, bookmarks or not', async () => {
    const { clock, server, start } = setUp();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(100);
    for (let count = 0; count < 20; count++) {
      server.put('b', { value: count });
      server.bookmark();
      server.cut();
      await clock.run(clock.now() + 20_000);
    }
    expect(server.lists).toBe(1);
    informer.stop();
  });

  it('begins its next watch at once where one has ended that had lasted', async () => {
    const { clock, server, seen, start } = setUp();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(20_000);
    server.cut();
    server.put('a', { value: 2 });
    await clock.run(clock.now() + 2);
    expect(values(seen.objects)).toEqual({ a: 2 });
    expect(seen.troubles).toEqual([]);
    informer.stop();
  });

  it('[V332] begins a watch that ends after each event more and more seldom, and says so', async () => {
    const clock = new SimulatedClock();
    const troubles: string[] = [];
    let watches = 0;
    const informer = new Informer<Thing>({
      source: {
        list: () => Promise.resolve('1'),
        watch: (_from, observer) => {
          watches += 1;
          const object = { metadata: { name: 'a', resourceVersion: '2' }, value: 1 };
          clock.setTimer(1, () => observer.onOpen());
          clock.setTimer(2, () => observer.onEvent({ type: 'MODIFIED', object }));
          clock.setTimer(3, () => observer.onEnd(undefined, 'closed'));
          return { stop: () => undefined };
        },
      },
      clock,
      random: seededRandom(1),
      observer: {
        onChange: () => undefined,
        onTrouble: (sentence) => void troubles.push(sentence),
      },
    });
    await clock.run(100_000);
    expect(watches).toBeGreaterThan(12);
    expect(watches).toBeLessThan(30);
    expect(new Set(troubles)).toEqual(new Set(['closed']));
    informer.stop();
  });

  it('[V394] sets one timer for a list, however many objects it has', async () => {
    const { clock, server, seen } = setUp();
    for (let at = 0; at < 1000; at++) server.put(String(at), { value: at });
    let timers = 0;
    const counting = Object.assign(Object.create(clock) as SimulatedClock, {
      now: () => clock.now(),
      setTimer: (delay: number, callback: () => void) => {
        timers += 1;
        return clock.setTimer(delay, callback);
      },
    });
    const informer = new Informer({
      source: { list: server.list, watch: () => ({ stop: () => undefined }) },
      clock: counting,
      random: seededRandom(1),
      observer: {
        onChange: (objects) => {
          seen.objects = new Map(objects);
        },
      },
    });
    await clock.run(10);
    expect([seen.objects.size, timers]).toEqual([1000, 1]);
    informer.stop();
  });

  it('asks again where a list is never answered', async () => {
    const { clock, server, seen, start } = setUp();
    server.mute = true;
    const informer = start();
    await clock.run(61_000);
    expect(seen.troubles).toEqual(['the API server has not answered a list for 60 seconds']);
    server.mute = false;
    server.put('a', { value: 1 });
    await clock.run(clock.now() + 61_000);
    expect(values(seen.objects)).toEqual({ a: 1 });
    informer.stop();
  });

  it('[V342] gives a list up that does not end within ten minutes, and keeps what it had', async () => {
    const { clock, server, seen, start } = setUp();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(100);
    // One object more each second.
    const { list } = server;
    server.list = (visit, signal) =>
      new Promise((_, reject) => {
        const next = (): void => {
          if (signal.aborted) return reject(new Error('stopped'));
          visit({ metadata: { name: `n${clock.now()}` }, value: 0 });
          clock.setTimer(1000, next);
        };
        next();
      });
    server.cut();
    server.put('b', { value: 1 });
    server.compact();
    const sentence = 'a list of the API server has not ended after 10 minutes';
    await clock.run(clock.now() + 595_000);
    expect(seen.troubles).not.toContain(sentence);
    await clock.run(clock.now() + 10_000);
    expect(seen.troubles).toContain(sentence);
    expect(values(seen.objects)).toEqual({ a: 1 });
    server.list = list;
    await clock.run(clock.now() + 620_000);
    expect(values(seen.objects)).toEqual({ a: 1, b: 1 });
    informer.stop();
  });

  it('[V346] is in trouble all the time where lists work and no watch does', async () => {
    const clock = new SimulatedClock();
    const seen: string[] = [];
    let works = false;
    const informer = new Informer<Thing>({
      source: {
        list: () => Promise.resolve('1'),
        watch: (_from, observer) => {
          clock.setTimer(1, () => (works ? observer.onOpen() : observer.onEnd(410, 'gone')));
          return { stop: () => undefined };
        },
      },
      clock,
      random: seededRandom(1),
      observer: {
        onChange: () => undefined,
        onTrouble: (sentence) => void seen.push(sentence),
        onRecovered: () => void seen.push('recovered'),
      },
    });
    await clock.run(100_000);
    works = true;
    await clock.run(clock.now() + 20_000);
    expect(seen.slice(0, 3)).toEqual(['recovered', 'gone', 'gone']);
    expect(seen.filter((each) => each === 'recovered')).toHaveLength(2);
    expect(seen.at(-1)).toBe('recovered');
    informer.stop();
  });

  it('[V399] takes each event as the newest state, whatever was said before it and in its version', async () => {
    const { clock, seen } = setUp();
    const watchedFrom: string[] = [];
    let tell: WatchObserver<Thing> | undefined;
    const informer = new Informer<Thing>({
      source: {
        list: (visit) => {
          visit({ metadata: { name: 'a', resourceVersion: '5' }, value: 1 });
          return Promise.resolve('9');
        },
        watch: (from, observer) => {
          watchedFrom.push(from);
          tell = observer;
          clock.setTimer(1, () => observer.onOpen());
          return { stop: () => undefined };
        },
      },
      clock,
      random: seededRandom(1),
      observer: {
        onChange: (objects) => {
          seen.objects = new Map(objects);
        },
      },
    });
    await clock.run(10);
    const event = (type: string, name: string, value: number, resourceVersion?: string): void =>
      tell?.onEvent({ type, object: { metadata: { name, resourceVersion }, value } });
    event('ADDED', 'a', 2, '10');
    event('DELETED', 'unknown', 0, '11');
    event('MODIFIED', 'b', 3, '12');
    event('ADDED', 'b', 4, '8');
    event('BOOKMARK', '', 0);
    expect(values(seen.objects)).toEqual({ a: 2, b: 4 });
    event('DELETED', 'a', 0);
    event('DELETED', 'a', 0);
    expect(values(seen.objects)).toEqual({ b: 4 });
    await clock.run(10_000);
    tell?.onEnd(undefined, 'closed');
    await clock.run(clock.now() + 10);
    // The last version that was said, as versions have no order; a bookmark without one says none.
    expect(watchedFrom).toEqual(['9', '8']);
    informer.stop();
  });
});
