const CAPACITY = 64;
/** Spreads numbers that follow each other over the places (Fibonacci hashing). */
const FACTOR = 0x9e3779b1;

/**
 * Values of what is in flight, by keys that have a number; keys are compared as `===` does.
 * JavaScript's `Map` makes a new table each time so many keys have come and gone, and tables that
 * V8 has moved to its old generation keep the values in them, and the next table, until the whole
 * heap is collected. This map keeps one table, which only grows.
 */
export class InFlightMap<K, V> {
  readonly #numberOf: (key: K) => number;
  #keys: (K | undefined)[] = emptyPlaces(CAPACITY);
  #values: (V | undefined)[] = emptyPlaces(CAPACITY);
  #size = 0;

  /** `numberOf` is a whole number of a key, which others may have, too. */
  constructor(numberOf: (key: K) => number) {
    this.#numberOf = numberOf;
  }

  get size(): number {
    return this.#size;
  }

  get(wanted: K): V | undefined {
    return this.#values[this.#placeOf(wanted)];
  }

  set(wanted: K, value: V): void {
    let place = this.#placeOf(wanted);
    if (this.#keys[place] === undefined) {
      if (2 * (this.#size + 1) > this.#keys.length) {
        this.#grow();
        place = this.#placeOf(wanted);
      }
      this.#size += 1;
      this.#keys[place] = wanted;
    }
    this.#values[place] = value;
  }

  /** Returns what was there. */
  delete(wanted: K): V | undefined {
    let free = this.#placeOf(wanted);
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

  /** All values, in no order. */
  *values(): Generator<V> {
    for (const [place, key] of this.#keys.entries()) {
      if (key !== undefined) yield this.#values[place] as V;
    }
  }

  /** Where it is, or the free place where it would be. */
  #placeOf(wanted: K): number {
    const last = this.#keys.length - 1;
    let place = this.#homeOf(wanted);
    for (;;) {
      const key = this.#keys[place];
      if (key === undefined || key === wanted) return place;
      place = (place + 1) & last;
    }
  }

  #homeOf(key: K): number {
    const hash = Math.imul(this.#numberOf(key), FACTOR);
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
