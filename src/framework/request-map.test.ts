import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Routed } from './observer.ts';
import { RequestMap } from './request-map.ts';

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
