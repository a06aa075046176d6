import type { Millis } from '../../framework/runtime.ts';
import { IndexedHeap } from '../indexed-heap.ts';
import type { Item } from './fairness/flow.ts';

/**
 * When waiting requests have waited long enough. One limit counts while there are endpoints,
 * another while there are none; each change begins a new time for all, so that a request that has
 * waited for the first endpoint is not refused when it comes.
 */
export class Expiry {
  readonly #noEndpointTtlMs: Millis;
  readonly #items = new IndexedHeap<Item>((a, b) => {
    const [first, second] = [this.#endOf(a), this.#endOf(b)];
    return first === second ? a.number < b.number : first < second;
  });
  #isEmpty: boolean;
  #changedAt: Millis;

  /** `former` has seen the pool until now. */
  constructor(noEndpointTtlMs: Millis, former?: Expiry) {
    this.#noEndpointTtlMs = noEndpointTtlMs;
    this.#isEmpty = former?.isEmpty ?? false;
    this.#changedAt = former?.changedAt ?? Number.NEGATIVE_INFINITY;
  }

  /** When the pool got its first endpoint, or lost its last one. */
  get changedAt(): Millis {
    return this.#changedAt;
  }

  /** Whether the pool has no endpoint. */
  get isEmpty(): boolean {
    return this.#isEmpty;
  }

  /** The pool has endpoints, or none. */
  see(isEmpty: boolean, at: Millis): void {
    if (isEmpty === this.#isEmpty) return;
    this.#isEmpty = isEmpty;
    this.#changedAt = at;
    this.#items.rebuild();
  }

  add(item: Item): void {
    this.#items.update(item);
  }

  delete(item: Item): void {
    this.#items.delete(item);
  }

  /** The first request whose time is over. */
  due(at: Millis): Item | undefined {
    const { first } = this.#items;
    return first !== undefined && this.#endOf(first) <= at ? first : undefined;
  }

  #endOf({ waiting, ttlMs }: Item): Millis {
    const ttl = this.#isEmpty ? this.#noEndpointTtlMs : ttlMs;
    return Math.max(waiting.since, this.#changedAt) + ttl;
  }
}
