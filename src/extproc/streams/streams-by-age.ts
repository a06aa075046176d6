/** What has a place in a list by age. */
export interface Aged<T> {
  older: T | undefined;
  newer: T | undefined;
}

/**
 * All open streams in the order in which they opened. It is a list and no Set, because thousands of
 * them open and close in a second: see `RequestIds`.
 */
export class StreamsByAge<T extends Aged<T>> {
  #newest: T | undefined;
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(stream: T): void {
    stream.older = this.#newest;
    if (this.#newest !== undefined) this.#newest.newer = stream;
    this.#newest = stream;
    this.#count += 1;
  }

  /** Call it once for each stream. */
  remove(stream: T): void {
    const { older, newer } = stream;
    if (older !== undefined) older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // A closed stream that the collector has moved to the old generation would keep its neighbours
    // in the list alive.
    stream.older = undefined;
    stream.newer = undefined;
    this.#count -= 1;
  }

  /** Calls `visit` for every stream, the newest first. It may remove the stream. */
  forEachNewest(visit: (stream: T) => void): void {
    for (let stream = this.#newest; stream !== undefined; ) {
      const { older } = stream;
      visit(stream);
      stream = older;
    }
  }
}
