/** Words of a slot: the key's low and high, the number's low, its high plus 1; 0 there is free. */
const WORDS = 4;
const SLOTS_AT_FIRST = 1024;
/** Slots for each entry, at least: linear probing stays short at this load. */
const SLOTS_PER_ENTRY = 2;
const LIMB = 0x1_0000_0000;

/** A hash table from 64-bit keys to numbers; one cache line for each look-up; no removal. */
export class NumberTable {
  #slots: Uint32Array;
  #size = 0;
  /** The free slot at which the last search ended. */
  #free = 0;

  /** It begins as large as `like`, for as many entries: growing costs as much as filling. */
  constructor(like?: NumberTable) {
    const slots = like === undefined ? SLOTS_AT_FIRST : like.#slots.length / WORDS;
    this.#slots = new Uint32Array(WORDS * slots);
  }

  get size(): number {
    return this.#size;
  }

  /** The number of this key; -1 where there is none, and `add` with the same key may follow. */
  find(low: number, high: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    for (let at = (low << 2) & mask; ; at = (at + WORDS) & mask) {
      const upper = slots[at + 3] as number;
      if (upper === 0) {
        this.#free = at;
        return -1;
      }
      if (slots[at] === low && slots[at + 1] === high) {
        return (upper - 1) * LIMB + (slots[at + 2] as number);
      }
    }
  }

  /** May be called only for the key that `find` got last and did not find. */
  add(low: number, high: number, number: number): void {
    if (WORDS * SLOTS_PER_ENTRY * this.#size >= this.#slots.length) {
      this.#grow();
      this.#free = this.#freeSlot(low);
    }
    this.#size += 1;
    const slots = this.#slots;
    const at = this.#free;
    slots[at] = low;
    slots[at + 1] = high;
    slots[at + 2] = number >>> 0;
    slots[at + 3] = Math.floor(number / LIMB) + 1;
  }

  #freeSlot(low: number): number {
    const slots = this.#slots;
    const mask = slots.length - 1;
    let at = (low << 2) & mask;
    while (slots[at + 3] !== 0) at = (at + WORDS) & mask;
    return at;
  }

  #grow(): void {
    const before = this.#slots;
    const slots = new Uint32Array(2 * before.length);
    this.#slots = slots;
    for (let from = 0; from < before.length; from += WORDS) {
      if (before[from + 3] === 0) continue;
      const at = this.#freeSlot(before[from] as number);
      for (let word = 0; word < WORDS; word++) slots[at + word] = before[from + word] as number;
    }
  }
}
