import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  informerBed,
  type Thing,
  valuesOf,
} from '../../../../../test/support/kubernetes/informer-bed.ts';
import type { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { Informer, type WatchObserver } from './informer.ts';

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
        const { clock, server, seen, start } = informerBed();
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
        expect(valuesOf(seen.objects)).toEqual(valuesOf(server.objects));
        expect(informer.synced).toBe(true);
        informer.stop();
      }),
      { seed: 859, numRuns: 60 },
    );
  });

  it('does not list again where a watch ended that had lasted, bookmarks or not', async () => {
    const { clock, server, start } = informerBed();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(10_000);
    for (let count = 0; count < 20; count++) {
      server.put('b', { value: count });
      server.bookmark();
      server.cut();
      await clock.run(clock.now() + 20_000);
    }
    expect(server.lists).toBe(1);
    informer.stop();
  });

  it.each([0, 100])(
    '[V625] knows the objects of a store that was put back from a backup after %i ms',
    async (waitMs) => {
      const { clock, server, seen, start } = informerBed();
      server.put('a', { value: 1 });
      server.put('b', { value: 1 });
      const informer = start();
      await clock.run(20_000);
      const backup = server.backup();
      server.remove('a');
      server.put('c', { value: 1 });
      await clock.run(clock.now() + 100);
      expect(valuesOf(seen.objects)).toEqual({ b: 1, c: 1 });
      server.up = false;
      server.cut();
      await clock.run(clock.now() + 2000);
      backup.restore();
      server.up = true;
      await clock.run(clock.now() + waitMs);
      server.put('d', { value: 2 });
      await clock.run(clock.now() + 10_000);
      expect(valuesOf(seen.objects)).toEqual({ a: 1, b: 1, d: 2 });
      informer.stop();
    },
  );

  it('[V625] lists again where a store was put back before a second attempt failed', async () => {
    const { clock, server, seen, start } = informerBed();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(1000);
    const backup = server.backup();
    server.put('b', { value: 1 });
    await clock.run(clock.now() + 100);
    server.cut();
    backup.restore();
    server.put('c', { value: 1 });
    await clock.run(clock.now() + 10_000);
    expect(valuesOf(seen.objects)).toEqual({ a: 1, c: 1 });
    informer.stop();
  });

  it('begins its next watch at once where one has ended that had lasted', async () => {
    const { clock, server, seen, start } = informerBed();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(20_000);
    server.cut();
    server.put('a', { value: 2 });
    await clock.run(clock.now() + 2);
    expect(valuesOf(seen.objects)).toEqual({ a: 2 });
    expect(seen.troubles).toEqual([]);
    informer.stop();
  });

  it('[V394] sets one timer for a list, however many objects it has', async () => {
    const { clock, server, seen } = informerBed();
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

  it('[V399] takes each event as the newest state, whatever was said before it and in its version', async () => {
    const { clock, seen } = informerBed();
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
    expect(valuesOf(seen.objects)).toEqual({ a: 2, b: 4 });
    event('DELETED', 'a', 0);
    event('DELETED', 'a', 0);
    expect(valuesOf(seen.objects)).toEqual({ b: 4 });
    await clock.run(10_000);
    tell?.onEnd(undefined, 'closed');
    await clock.run(clock.now() + 10);
    // The last version that was said, as versions have no order; a bookmark without one says none.
    expect(watchedFrom).toEqual(['9', '8']);
    informer.stop();
  });
});
