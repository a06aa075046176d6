/** Initial length of the ring, which grows with use. A power of two. */
const PLACES_MIN = 512;

/**
 * The free blocks, longest free first, in a ring. A block removed out of turn leaves a stale entry,
 * which `shift` skips: a linked list would cause a cache miss for every block.
 */
export class FreeQueue {
  #ring: Int32Array = new Int32Array(PLACES_MIN);
  /** Ring index of each block's entry; -1 for a block that is not in the queue. */
  #placeOf: Int32Array = new Int32Array(0);
  #head = 0;
  /** Entries in the ring, including stale ones. */
  #entries = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Makes room for blocks with numbers below `blocks`. */
  reserve(blocks: number): void {
    const places = new Int32Array(blocks).fill(-1);
    places.set(this.#placeOf);
    this.#placeOf = places;
  }

  push(block: number): void {
    if (this.#entries === this.#ring.length) this.#rebuild();
    const place = (this.#head + this.#entries) & (this.#ring.length - 1);
    this.#ring[place] = block;
    this.#placeOf[block] = place;
    this.#entries += 1;
    this.#size += 1;
  }

  /** Removes a block, which must be in the queue, out of turn. */
  remove(block: number): void {
    this.#placeOf[block] = -1;
    this.#size -= 1;
  }

  /** Removes and returns the block that has been free longest, if there is one. */
  shift(): number | undefined {
    const mask = this.#ring.length - 1;
    while (this.#entries > 0) {
      const place = this.#head;
      const block = this.#ring[place] as number;
      this.#head = (place + 1) & mask;
      this.#entries -= 1;
      if (this.#placeOf[block] !== place) continue;
      this.remove(block);
      return block;
    }
    return undefined;
  }

  clear(): void {
    this.#placeOf.fill(-1);
    this.#head = 0;
    this.#entries = 0;
    this.#size = 0;
  }

  /** Drops stale entries. The ring is at most half full afterwards: a push costs O(1) amortized. */
  #rebuild(): void {
    const before = this.#ring;
    let places = PLACES_MIN;
    while (places < 2 * this.#size) places *= 2;
    this.#ring = new Int32Array(places);
    let count = 0;
    for (let index = 0; index < this.#entries; index++) {
      const place = (this.#head + index) & (before.length - 1);
      const block = before[place] as number;
      if (this.#placeOf[block] !== place) continue;
      this.#ring[count] = block;
      count += 1;
    }
    // After the loop above, which compares places in the old ring.
    for (let place = 0; place < count; place++) this.#placeOf[this.#ring[place] as number] = place;
    this.#head = 0;
    this.#entries = count;
  }
}
