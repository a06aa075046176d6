import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Routed } from './observer.ts';
import { RequestMap } from './request-map.ts';
import { InFlightMap } from './values/in-flight-map.ts';

const routed = (number: number): Routed => ({ number }) as Routed;

describe('the values of requests in flight', () => {
  it('[B130] are those of a Map, also where other replicas give requests the same numbers', () => {
    const numbers = fc.integer({ min: 0, max: 40 });
    const steps = fc.array(
      fc.tuple(fc.constantFrom('set', 'delete', 'get'), numbers, fc.integer({ min: 0, max: 1 })),
      { maxLength: 400 },
    );
    const requests = Array.from({ length: 82 }, (_, index) => routed(index % 41));
    fc.assert(
      fc.property(steps, (list) => {
        const map = new RequestMap<number>();
        const model = new Map<Routed, number>();
        for (const [index, [call, number, replica]] of list.entries()) {
          const key = requests[number + 41 * replica] as Routed;
          if (call === 'get') expect(map.get(key)).toBe(model.get(key));
          else if (call === 'delete') {
            expect(map.delete(key)).toBe(model.get(key));
            model.delete(key);
          } else {
            map.set(key, index);
            model.set(key, index);
          }
          expect(map.size).toBe(model.size);
        }
        const byValue = (one: number, other: number): number => one - other;
        expect([...map.values()].toSorted(byValue)).toEqual([...model.values()].toSorted(byValue));
      }),
      { seed: 130 },
    );
  });

  it('[B130] grow with thousands of requests at once, and find each of them', () => {
    const map = new RequestMap<number>();
    const requests = Array.from({ length: 5000 }, (_, number) => routed(number));
    for (const request of requests) map.set(request, request.number);
    for (const request of requests.filter(({ number }) => number % 3 === 0)) map.delete(request);
    const found = requests.filter((request) => map.get(request) === request.number);
    expect([map.size, found.length]).toEqual([3333, 3333]);
  });
});

it('[V195] streams are found by their numbers as in a Map, also where many of these have one place', () => {
  // Few numbers with the same place, and many that follow each other.
  const id = fc.oneof(
    fc.nat(200).map((at) => 2 * at + 1),
    fc.nat(20).map((at) => 128 * at + 1),
  );
  const steps = fc.array(fc.record({ id, add: fc.boolean() }), { maxLength: 400 });
  fc.assert(
    fc.property(steps, (list) => {
      const table = new InFlightMap<number, object>((number) => number);
      const map = new Map<number, object>();
      for (const { id, add } of list) {
        if (!add) {
          table.delete(id);
          map.delete(id);
        } else if (!map.has(id)) {
          const stream = {};
          table.set(id, stream);
          map.set(id, stream);
        }
        expect(table.size).toBe(map.size);
      }
      for (const { id } of list) expect(table.get(id)).toBe(map.get(id));
      expect(new Set(table.values())).toEqual(new Set(map.values()));
    }),
    { seed: 20_261_122, numRuns: 200 },
  );
});
