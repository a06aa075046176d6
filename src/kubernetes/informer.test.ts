import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/seeded-random.ts';
import { SimulatedClock } from '../sim/simulated-clock.ts';
import { Informer, type KubeObject, type ResourceSource, type WatchEvent } from './informer.ts';

interface Thing extends KubeObject {
  readonly value: number;
}

/** An API server in miniature: versions, a history that is cut, watches that end, lists that fail. */
class FakeServer implements ResourceSource<Thing> {
  readonly objects = new Map<string, Thing>();
  readonly #clock: SimulatedClock;
  #version = 1;
  /** Events still known, oldest first. */
  #history: { readonly version: number; readonly event: WatchEvent<Thing> }[] = [];
  readonly #watches = new Set<(event: WatchEvent<Thing>) => void>();
  readonly #ends = new Set<(status: number | undefined, reason: string) => void>();
  up = true;
  lists = 0;

  constructor(clock: SimulatedClock) {
    this.#clock = clock;
  }

  list(): ReturnType<ResourceSource<Thing>['list']> {
    this.lists += 1;
    if (!this.up) return Promise.reject(new Error('connection refused'));
    return Promise.resolve({
      items: [...this.objects.values()],
      resourceVersion: String(this.#version),
    });
  }

  watch: ResourceSource<Thing>['watch'] = (from, onEvent, onEnd) => {
    let open = true;
    const end = (status: number | undefined, reason: string): void => {
      if (!open) return;
      open = false;
      this.#watches.delete(tell);
      this.#ends.delete(end);
      onEnd(status, reason);
    };
    const tell = (event: WatchEvent<Thing>): void => {
      if (open) onEvent(event);
    };
    this.#clock.setTimer(1, () => {
      if (!this.up) return end(undefined, 'connection refused');
      const oldest = this.#history[0]?.version ?? this.#version + 1;
      if (Number(from) < oldest - 1) return end(410, 'too old resource version');
      for (const { version, event } of this.#history) if (version > Number(from)) tell(event);
      this.#watches.add(tell);
      this.#ends.add(end);
    });
    return {
      stop: () => {
        open = false;
        this.#watches.delete(tell);
      },
    };
  };

  put(name: string, value: number): void {
    const known = this.objects.has(name);
    this.#version += 1;
    const thing = {
      metadata: { namespace: 'n', name, resourceVersion: String(this.#version) },
      value,
    };
    this.objects.set(name, thing);
    this.#tell({ type: known ? 'MODIFIED' : 'ADDED', object: thing });
  }

  remove(name: string): void {
    const thing = this.objects.get(name);
    if (thing === undefined) return;
    this.#version += 1;
    this.objects.delete(name);
    const metadata = { ...thing.metadata, resourceVersion: String(this.#version) };
    this.#tell({ type: 'DELETED', object: { ...thing, metadata } });
  }

  bookmark(): void {
    const metadata = { resourceVersion: String(this.#version) };
    for (const watch of this.#watches) watch({ type: 'BOOKMARK', object: { metadata, value: 0 } });
  }

  /** Forgets what happened so far: a watch from before must list anew. */
  compact(): void {
    this.#history = [];
  }

  cut(): void {
    const ends = [...this.#ends];
    for (const end of ends) end(undefined, 'closed');
  }

  #tell(event: WatchEvent<Thing>): void {
    this.#history.push({ version: this.#version, event });
    for (const watch of this.#watches) watch(event);
  }
}

function setUp() {
  const clock = new SimulatedClock();
  const server = new FakeServer(clock);
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
        for (let at = 0; at < 10; at++) server.put(String(at), at);
        const informer = start();
        await clock.run(10);
        for (const each of steps) {
          if (each.do === 'put' && 'value' in each) server.put(String(each.name), each.value);
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
    server.put('a', 1);
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

  it('does not list anew where a watch merely ended, bookmarks or not', async () => {
    const { clock, server, start } = setUp();
    server.put('a', 1);
    const informer = start();
    await clock.run(100);
    for (let count = 0; count < 20; count++) {
      server.put('b', count);
      server.bookmark();
      server.cut();
      await clock.run(clock.now() + 20_000);
    }
    expect(server.lists).toBe(1);
    informer.stop();
  });
});
