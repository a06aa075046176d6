/** Words of a slot: the key's two, then the number's two, the upper of those one more than it is: 0 is a free slot. */
const WORDS = 4;
const SLOTS_AT_FIRST = 1024;
/** Slots to each entry at least: linear probing stays short below this load. */
const SLOTS_PER_ENTRY = 2;
const LIMB = 0x1_0000_0000;

/** Numbers by 64-bit hashes, all of a slot in one place of memory. Nothing is taken out again. */
export class NumberTable {
  #slots = new Uint32Array(WORDS * SLOTS_AT_FIRST);
  #size = 0;

  get size(): number {
    return this.#size;
  }

  /** -1 where there is none. */
  find(low: number, high: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (low << 2) & mask; ; at = (at + WORDS) & mask) {
      const upper = slots[at + 3] as number;
      if (upper === 0) return -1;
      if (slots[at] === low && slots[at + 1] === high) {
        return (upper - 1) * LIMB + (slots[at + 2] as number);
      }
    }
  }

  /** Of a key that is not in it yet. */
  add(low: number, high: number, number: number): void {
    if (WORDS * SLOTS_PER_ENTRY * this.#size >= this.#slots.length) this.#grow();
    this.#size += 1;
    this.#place(low, high, number >>> 0, Math.floor(number / LIMB) + 1);
  }

  #place(low: number, high: number, lower: number, upper: number): void {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = (low << 2) & mask;
    while (slots[at + 3] !== 0) at = (at + WORDS) & mask;
    slots[at] = low;
    slots[at + 1] = high;
    slots[at + 2] = lower;
    slots[at + 3] = upper;
  }

  #grow(): void {
    const before = this.#slots;
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += WORDS) {
      const [low = 0, high = 0, lower = 0, upper = 0] = before.subarray(at, at + WORDS);
      if (upper !== 0) this.#place(low, high, lower, upper);
    }
  }
}
