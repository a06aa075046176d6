import type { Http2Stream } from './stream.ts';

const CAPACITY = 32;

/**
 * The open streams of a connection. A `Map` makes a new table each time so many have come and gone,
 * and V8 keeps old tables with the streams in them for long; this one keeps its table, which only
 * grows. A stream's home is by its number, as numbers of streams go up by two.
 */
export class StreamTable {
  #places: (Http2Stream | undefined)[] = places(CAPACITY);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(id: number): Http2Stream | undefined {
    return this.#places[this.#placeOf(id)];
  }

  /** The number must not be in the table. */
  add(stream: Http2Stream): void {
    if (2 * (this.#size + 1) > this.#places.length) this.#grow();
    this.#places[this.#placeOf(stream.id)] = stream;
    this.#size += 1;
  }

  delete(id: number): void {
    let free = this.#placeOf(id);
    if (this.#places[free] === undefined) return;
    this.#size -= 1;
    const last = this.#places.length - 1;
    // What follows moves up, where a search for it would otherwise end at the free place.
    for (let place = (free + 1) & last; ; place = (place + 1) & last) {
      const stream = this.#places[place];
      if (stream === undefined) break;
      const away = (place - this.#homeOf(stream.id)) & last;
      if (away < ((place - free) & last)) continue;
      this.#places[free] = stream;
      free = place;
    }
    this.#places[free] = undefined;
  }

  /** In no order; a list of its own. */
  all(): readonly Http2Stream[] {
    return this.#places.filter((stream) => stream !== undefined);
  }

  /** Where it is, or the free place where it would be. */
  #placeOf(id: number): number {
    const last = this.#places.length - 1;
    let place = this.#homeOf(id);
    for (;;) {
      const stream = this.#places[place];
      if (stream === undefined || stream.id === id) return place;
      place = (place + 1) & last;
    }
  }

  #homeOf(id: number): number {
    return (id >>> 1) & (this.#places.length - 1);
  }

  #grow(): void {
    const streams = this.all();
    this.#places = places(2 * this.#places.length);
    for (const stream of streams) this.#places[this.#placeOf(stream.id)] = stream;
  }
}

function places(count: number): (Http2Stream | undefined)[] {
  return Array.from({ length: count }, () => undefined);
}
