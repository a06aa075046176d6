import type { Routed } from './observer.ts';

const CAPACITY = 64;
/** Spreads numbers that follow each other over the places (Fibonacci hashing). */
const FACTOR = 0x9e3779b1;

/**
 * Values of requests in flight. JavaScript's `Map` makes a new table each time so many requests have
 * come and gone, and tables that V8 has moved to its old generation keep the requests in them, and
 * the next table, until the whole heap is collected. This one keeps its table, which only grows.
 */
export class RequestMap<V> {
  #keys: (Routed | undefined)[] = emptyPlaces(CAPACITY);
  #values: (V | undefined)[] = emptyPlaces(CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(routed: Routed): V | undefined {
    return this.#values[this.#placeOf(routed)];
  }

  set(routed: Routed, value: V): void {
    let place = this.#placeOf(routed);
    if (this.#keys[place] === undefined) {
      if (2 * (this.#size + 1) > this.#keys.length) {
        this.#grow();
        place = this.#placeOf(routed);
      }
      this.#size += 1;
      this.#keys[place] = routed;
    }
    this.#values[place] = value;
  }

  /** Returns what was there. */
  delete(routed: Routed): V | undefined {
    let free = this.#placeOf(routed);
    if (this.#keys[free] === undefined) return undefined;
    const value = this.#values[free];
    this.#size -= 1;
    const last = this.#keys.length - 1;
    // What follows moves up, where a search for it would otherwise end at the free place.
    for (let place = (free + 1) & last; ; place = (place + 1) & last) {
      const key = this.#keys[place];
      if (key === undefined) break;
      const away = (place - this.#homeOf(key)) & last;
      if (away < ((place - free) & last)) continue;
      this.#keys[free] = key;
      this.#values[free] = this.#values[place];
      free = place;
    }
    this.#keys[free] = undefined;
    this.#values[free] = undefined;
    return value;
  }

  /** In no order. */
  *values(): Generator<V> {
    for (const [place, key] of this.#keys.entries()) {
      if (key !== undefined) yield this.#values[place] as V;
    }
  }

  /** Where it is, or the free place where it would be. */
  #placeOf(routed: Routed): number {
    const last = this.#keys.length - 1;
    let place = this.#homeOf(routed);
    for (;;) {
      const key = this.#keys[place];
      if (key === undefined || key === routed) return place;
      place = (place + 1) & last;
    }
  }

  #homeOf({ number }: Routed): number {
    const hash = Math.imul(number, FACTOR);
    return (hash ^ (hash >>> 16)) & (this.#keys.length - 1);
  }

  #grow(): void {
    const [keys, values] = [this.#keys, this.#values];
    this.#keys = emptyPlaces(2 * keys.length);
    this.#values = emptyPlaces(2 * keys.length);
    this.#size = 0;
    for (const [place, key] of keys.entries()) {
      if (key !== undefined) this.set(key, values[place] as V);
    }
  }
}

function emptyPlaces<T>(count: number): (T | undefined)[] {
  return Array.from({ length: count }, () => undefined);
}
