import type { InferenceRequest } from '../../framework/request.ts';
import { IndexedHeap } from '../indexed-heap.ts';

interface Running {
  readonly request: InferenceRequest;
  /** Counts the requests in the order in which they were placed. */
  readonly number: number;
}

/**
 * The requests in flight, and of them those that may be evicted: the lowest priority, newest first.
 */
export class RunningRequests {
  /** By id. */
  readonly #running = new Map<string, Running>();
  readonly #evictable = new IndexedHeap<Running>((a, b) =>
    a.request.priority === b.request.priority
      ? a.number > b.number
      : a.request.priority < b.request.priority,
  );
  #placed = 0;

  /** How many are in flight. */
  get size(): number {
    return this.#running.size;
  }

  /** The one to evict first. It stays in flight until it is deleted. */
  get victim(): InferenceRequest | undefined {
    return this.#evictable.first?.request;
  }

  add(request: InferenceRequest): void {
    const running = { request, number: this.#placed++ };
    this.#running.set(request.id, running);
    if (request.priority < 0) this.#evictable.update(running);
  }

  /** It was asked to end, and is in flight until it has ended. */
  evict({ id }: InferenceRequest): void {
    const running = this.#running.get(id);
    if (running !== undefined) this.#evictable.delete(running);
  }

  delete({ id }: InferenceRequest): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    this.#evictable.delete(running);
  }
}
