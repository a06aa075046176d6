/** Words of a slot: the key's two, then the number's two, the upper of those one more than it is: 0 is a free slot. */
const WORDS = 4;
const SLOTS_AT_FIRST = 1024;
/** Slots to each entry at least: linear probing stays short below this load. */
const SLOTS_PER_ENTRY = 2;
const LIMB = 0x1_0000_0000;

/** Numbers by 64-bit hashes, all of a slot in one place of memory. Nothing is taken out again. */
export class NumberTable {
  #slots: Uint32Array;
  #size = 0;
  /** The free slot at which the last search ended. */
  #free = 0;

  /** As large as `like`, where as much is expected: growing costs as much as filling. */
  constructor(like?: NumberTable) {
    const slots = like === undefined ? SLOTS_AT_FIRST : like.#slots.length / WORDS;
    this.#slots = new Uint32Array(WORDS * slots);
  }

  get size(): number {
    return this.#size;
  }

  /** -1 where there is none: what is added next is what was looked for. */
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

  /** Of the key that was looked for last and not found. */
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

  /** From a table that was smaller. */
  #move(before: Uint32Array, from: number): void {
    const slots = this.#slots;
    const at = this.#freeSlot(before[from] as number);
    for (let word = 0; word < WORDS; word++) slots[at + word] = before[from + word] as number;
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
    this.#slots = new Uint32Array(2 * before.length);
    for (let at = 0; at < before.length; at += WORDS) {
      if (before[at + 3] !== 0) this.#move(before, at);
    }
  }
}
