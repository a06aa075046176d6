import type { WaitingQueue } from '../../flow/waiting-queue.ts';
import type { Placement } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { HeldLoads } from '../load/held-loads.ts';
import { type HeldRequest, placeOf, type Target } from './held-request.ts';

/**
 * The requests that wait, the oldest first. Each one is in the queue as long as it is here, and its
 * load counts where it would go.
 */
export class HeldRequests {
  readonly #queue: WaitingQueue<HeldRequest>;
  readonly #loads: HeldLoads;
  readonly #byPlacement = new Map<Placement, HeldRequest>();

  constructor(queue: WaitingQueue<HeldRequest>, loads: HeldLoads) {
    this.#queue = queue;
    this.#loads = loads;
  }

  get size(): number {
    return this.#byPlacement.size;
  }

  get oldest(): HeldRequest | undefined {
    const [oldest] = this.#byPlacement.values();
    return oldest;
  }

  get(placement: Placement): HeldRequest | undefined {
    return this.#byPlacement.get(placement);
  }

  values(): MapIterator<HeldRequest> {
    return this.#byPlacement.values();
  }

  add(held: HeldRequest): void {
    this.#byPlacement.set(held.placement, held);
    this.#queue.add(held, placeOf(held.target));
    if (held.target !== undefined) this.#loads.add(held.target.load);
  }

  /** From now on it waits for `target`, decided `at`; undefined where it could not be decided. */
  move(held: HeldRequest, target: Target | undefined, at: Millis): void {
    const before = held.target?.load;
    this.#queue.move(held, () => {
      held.target = target;
      held.ownMs = target?.ownMs ?? 0;
      held.decidedAt = at;
      return placeOf(target);
    });
    if (before !== undefined && target !== undefined) this.#loads.replace(before, target.load);
    else if (target !== undefined) this.#loads.add(target.load);
    else if (before !== undefined) this.#loads.remove(before);
  }

  delete(held: HeldRequest): void {
    if (held.target !== undefined) this.#loads.remove(held.target.load);
    held.target = undefined;
    this.#byPlacement.delete(held.placement);
    this.#queue.delete(held);
  }
}
