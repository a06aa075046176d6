/** Places at first; grows with use. A power of two. */
const PLACES_MIN = 512;

/**
 * Blocks held by nobody, longest free first. A block taken out of turn leaves its entry behind, to be passed over later:
 * so all memory is walked in order, where a linked list would miss the processor's cache at every block.
 */
export class FreeQueue {
  #ring: Int32Array = new Int32Array(PLACES_MIN);
  /** Where each block's entry stands; -1 for none. */
  #placeOf: Int32Array = new Int32Array(0);
  #head = 0;
  /** Entries, those left behind included. */
  #entries = 0;
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** Room for blocks numbered below `blocks`. */
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

  /** Takes a block that is in it out of turn. */
  remove(block: number): void {
    this.#placeOf[block] = -1;
    this.#size -= 1;
  }

  /** The longest free; -1 when there is none. */
  shift(): number {
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
    return -1;
  }

  clear(): void {
    this.#placeOf.fill(-1);
    this.#head = 0;
    this.#entries = 0;
    this.#size = 0;
  }

  /** Drops what was left behind. At most half full afterwards, so that this costs O(1) a push. */
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
    // Only now: while entries move, a new place must not be mistaken for an old one.
    for (let place = 0; place < count; place++) this.#placeOf[this.#ring[place] as number] = place;
    this.#head = 0;
    this.#entries = count;
  }
}
