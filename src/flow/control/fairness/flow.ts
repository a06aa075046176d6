import type { Millis } from '../../../framework/runtime.ts';
import type { Waiting } from '../../discipline.ts';
import { IndexedHeap } from '../../indexed-heap.ts';

/** A waiting request with its place in the order of arrival. */
export interface Item {
  readonly waiting: Waiting;
  /** Counts the requests of the queue in the order of their arrival. */
  readonly number: number;
  /** How long it may wait while there are endpoints; infinity for no limit. */
  readonly ttlMs: Millis;
  readonly flow: Flow;
}

/** Whether the first of two waiting requests is to be placed first. */
export type Before = (a: Item, b: Item) => boolean;

/** The waiting requests of one fairness id in one band. */
export class Flow {
  /** The fairness id. */
  readonly id: string;
  readonly #items: IndexedHeap<Item>;
  /** Requests that this pass has offered. They still wait, and are not offered twice. */
  readonly #offered = new Set<Item>();

  constructor(id: string, before: Before) {
    this.id = id;
    this.#items = new IndexedHeap(before);
  }

  get size(): number {
    return this.#items.size + this.#offered.size;
  }

  /** The next request that was not offered in this pass. */
  get first(): Item | undefined {
    return this.#items.first;
  }

  add(item: Item): void {
    this.#items.update(item);
  }

  delete(item: Item): void {
    if (!this.#offered.delete(item)) this.#items.delete(item);
  }

  offer(item: Item): void {
    this.#items.delete(item);
    this.#offered.add(item);
  }

  /** Ends a pass: its requests can be offered again. */
  takeBack(): void {
    for (const item of this.#offered) this.#items.update(item);
    this.#offered.clear();
  }
}
