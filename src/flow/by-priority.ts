import { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { Millis } from '../framework/runtime.ts';
import type { Dropped, QueueDiscipline, ReadyGroup, Served, Waiting } from './discipline.ts';

export interface ByPriorityLimits {
  readonly maxRequests: number;
  readonly maxBytes: number;
}

const NONE: readonly Dropped[] = [];

/**
 * The discipline of a configuration without flow control: higher priorities strictly first, any
 * order among equals, and a limit in requests and bytes. It refuses only what exceeds the limit.
 */
export class ByPriority implements QueueDiscipline {
  readonly bypass = true;
  readonly nextExpiry: undefined;
  readonly #limits: () => ByPriorityLimits;
  readonly #groups = new Map<number, Set<Waiting>>();
  /** The priorities of `#groups`, highest first. */
  #priorities: readonly number[] = [];
  #size = 0;
  #bytes = 0;

  /** The limits are asked for at each request. */
  constructor(limits: () => ByPriorityLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  get bytes(): number {
    return this.#bytes;
  }

  add(waiting: Waiting, _at: Millis): readonly Dropped[] {
    const { maxRequests, maxBytes } = this.#limits();
    if (this.#size + 1 > maxRequests) throw full(`${maxRequests} requests wait`);
    if (this.#bytes + waiting.bytes > maxBytes) throw full(`requests of ${this.#bytes} bytes wait`);
    const { priority } = waiting.request;
    let group = this.#groups.get(priority);
    if (group === undefined) {
      group = new Set();
      this.#groups.set(priority, group);
      this.#priorities = [...this.#groups.keys()].toSorted((a, b) => b - a);
    }
    group.add(waiting);
    this.#size += 1;
    this.#bytes += waiting.bytes;
    return NONE;
  }

  remove(waiting: Waiting, _at: Millis): void {
    const { priority } = waiting.request;
    const group = this.#groups.get(priority);
    if (group?.delete(waiting) !== true) return;
    this.#size -= 1;
    this.#bytes -= waiting.bytes;
    if (group.size > 0) return;
    this.#groups.delete(priority);
    this.#priorities = this.#priorities.filter((each) => each !== priority);
  }

  *ready(_at: Millis): Iterable<ReadyGroup> {
    for (const priority of this.#priorities) {
      const requests = this.#groups.get(priority);
      if (requests !== undefined) yield { order: 'free', requests };
    }
  }

  expired(_at: Millis): readonly Dropped[] {
    return NONE;
  }

  placed(waiting: Waiting, at: Millis): void {
    this.remove(waiting, at);
  }

  ended(_request: InferenceRequest, _served: Served, _at: Millis): void {}
}

function full(what: string): RoutingError {
  return new RoutingError(
    'saturated',
    `too many requests wait for an endpoint: ${what}; try again`,
  );
}
