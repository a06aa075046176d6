import { describe, expect, it } from 'vitest';
import {
  informerBed,
  type Thing,
  valuesOf,
} from '../../../../../test/support/kubernetes/informer-bed.ts';
import { SimulatedClock } from '../../../../runtime/clock/simulated-clock.ts';
import { seededRandom } from '../../../../runtime/seeded-random.ts';
import { Informer } from './informer.ts';

describe('an informer whose API server fails', () => {
  it('keeps the last state while the server is away, and says how old it is', async () => {
    const { clock, server, seen, start } = informerBed();
    server.put('a', { value: 1 });
    const informer = start();
    await clock.run(100);
    expect(informer.ageMs).toBe(0);
    server.up = false;
    server.cut();
    await clock.run(clock.now() + 30_000);
    expect(valuesOf(seen.objects)).toEqual({ a: 1 });
    expect(informer.ageMs).toBeGreaterThan(25_000);
    expect(seen.troubles).toContain('connection refused');
    informer.stop();
  });

  it('backs off from a server that refuses, to one try in ten seconds', async () => {
    const { clock, server, start } = informerBed();
    server.up = false;
    const informer = start();
    await clock.run(100_000);
    expect(server.lists).toBeGreaterThan(12);
    expect(server.lists).toBeLessThan(30);
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

  it('asks again where a list is never answered', async () => {
    const { clock, server, seen, start } = informerBed();
    server.mute = true;
    const informer = start();
    await clock.run(61_000);
    expect(seen.troubles).toEqual(['the API server has not answered a list for 60 seconds']);
    server.mute = false;
    server.put('a', { value: 1 });
    await clock.run(clock.now() + 61_000);
    expect(valuesOf(seen.objects)).toEqual({ a: 1 });
    informer.stop();
  });

  it('[V342] gives a list up that does not end within ten minutes, and keeps what it had', async () => {
    const { clock, server, seen, start } = informerBed();
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
    expect(valuesOf(seen.objects)).toEqual({ a: 1 });
    server.list = list;
    await clock.run(clock.now() + 620_000);
    expect(valuesOf(seen.objects)).toEqual({ a: 1, b: 1 });
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
});
