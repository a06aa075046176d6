import type { Sequence } from './sequence.ts';

/** Removed entries at the front are dropped this many at a time, so that a shift costs O(1). */
const GAP_MAX = 1024;

/** `fcfs`: first come, first served. `priority`: lower `priority` first, then first come. */
export type QueuePolicy = 'fcfs' | 'priority';

/** Requests that wait to be admitted, first in line first. */
export class EngineQueue {
  readonly #policy: QueuePolicy;
  #items: (Sequence | undefined)[] = [];
  #head = 0;

  constructor(policy: QueuePolicy) {
    this.#policy = policy;
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  at(index: number): Sequence | undefined {
    return this.#items[this.#head + index];
  }

  push(sequence: Sequence): void {
    if (this.#policy === 'fcfs') this.#items.push(sequence);
    else this.#items.splice(this.#placeOf(sequence), 0, sequence);
  }

  /** Puts a preempted request in front; under the priority policy, at its position in the order. */
  pushBack(sequence: Sequence): void {
    if (this.#policy === 'priority') {
      this.push(sequence);
    } else if (this.#head === 0) {
      this.#items.unshift(sequence);
    } else {
      this.#head -= 1;
      this.#items[this.#head] = sequence;
    }
  }

  removeAt(index: number): void {
    if (index === 0) this.#shift();
    else this.#items.splice(this.#head + index, 1);
  }

  remove(sequence: Sequence): void {
    const place = this.#items.indexOf(sequence, this.#head);
    if (place >= 0) this.removeAt(place - this.#head);
  }

  takeAll(): readonly Sequence[] {
    const all = this.#items.slice(this.#head) as Sequence[];
    this.#items = [];
    this.#head = 0;
    return all;
  }

  forEach(visit: (sequence: Sequence) => void): void {
    for (let place = this.#head; place < this.#items.length; place++) {
      visit(this.#items[place] as Sequence);
    }
  }

  #shift(): void {
    this.#items[this.#head] = undefined;
    this.#head += 1;
    if (this.#head === this.#items.length) this.#items.length = 0;
    else if (this.#head < GAP_MAX) return;
    else this.#items = this.#items.slice(this.#head);
    this.#head = 0;
  }

  #placeOf(sequence: Sequence): number {
    let low = this.#head;
    let high = this.#items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (comesBefore(sequence, this.#items[middle] as Sequence)) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}

/** vLLM's order under the priority policy. The last one in this order is preempted first. */
export function comesBefore(a: Sequence, b: Sequence): boolean {
  const first = a.request.priority ?? 0;
  const second = b.request.priority ?? 0;
  return first < second || (first === second && a.arrivedAt < b.arrivedAt);
}
