import type { BandFairness, Fairness } from './fairness.ts';
import type { Flow } from './flow.ts';

/** A flow waits here for at most so many turns that it had at other replicas. */
const TURNS_ELSEWHERE_MAX = 8;

/**
 * One request of each flow in turn, in the order of the fairness ids. Where a flow with requests
 * has had a turn at another replica, it is passed over once here: it has as many turns as the
 * others, however many replicas it sends to.
 */
export function roundRobin(): Fairness {
  return { forBand: () => new Turns() };
}

class Turns implements BandFairness {
  /** Sorted by fairness id. */
  readonly #flows: Flow[] = [];
  /** Turns that flows have had at other replicas, by fairness id. */
  readonly #elsewhere = new Map<string, number>();
  #lastPlaced = '';
  #lastOffered = '';

  changed(flow: Flow): void {
    const place = this.#placeOf(flow.id);
    const known = this.#flows[place] === flow;
    if (flow.size === 0) this.#elsewhere.delete(flow.id);
    if (flow.first === undefined) {
      if (known) this.#flows.splice(place, 1);
    } else if (!known) this.#flows.splice(place, 0, flow);
  }

  begin(): void {
    this.#lastOffered = this.#lastPlaced;
  }

  next(): Flow | undefined {
    const from = this.#placeAfter(this.#lastOffered);
    const flow = this.#elsewhere.size === 0 ? this.#flows[from] : this.#leastElsewhere(from);
    if (flow !== undefined) this.#lastOffered = flow.id;
    return flow;
  }

  placed({ flow }: { readonly flow: Flow }): void {
    if (this.#elsewhere.size > 0) this.#settle(flow.id);
    this.#lastPlaced = flow.id;
  }

  placedElsewhere({ fairnessId }: { readonly fairnessId: string }): void {
    if (this.#flows[this.#placeOf(fairnessId)]?.id !== fairnessId) return;
    const turns = this.#turnsOf(fairnessId) + 1;
    this.#elsewhere.set(fairnessId, Math.min(TURNS_ELSEWHERE_MAX, turns));
  }

  /** The place of the first flow whose id is not before `id`. */
  #placeOf(id: string): number {
    let [low, high] = [0, this.#flows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#flows[middle] as Flow).id < id) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** The place of the flow that comes after this id, in a circle. */
  #placeAfter(id: string): number {
    const place = this.#placeOf(id);
    const after = this.#flows[place]?.id === id ? place + 1 : place;
    return after < this.#flows.length ? after : 0;
  }

  #turnsOf(id: string): number {
    return this.#elsewhere.get(id) ?? 0;
  }

  /** The first flow, from this place on, of those with the fewest turns elsewhere. */
  #leastElsewhere(from: number): Flow | undefined {
    let best: Flow | undefined;
    for (let step = 0; step < this.#flows.length; step++) {
      const flow = this.#flows[(from + step) % this.#flows.length] as Flow;
      if (best === undefined || this.#turnsOf(flow.id) < this.#turnsOf(best.id)) best = flow;
    }
    return best;
  }

  /** Takes off the turns that flows were passed over for, before this one. */
  #settle(placed: string): void {
    const own = this.#turnsOf(placed);
    for (const [id, turns] of this.#elsewhere) {
      const isPassedOver = isBetween(id, this.#lastPlaced, placed);
      const left = turns - own - (isPassedOver ? 1 : 0);
      if (left > 0) this.#elsewhere.set(id, left);
      else this.#elsewhere.delete(id);
    }
  }
}

/** Whether an id comes after one and before the other, in a circle. */
function isBetween(id: string, after: string, before: string): boolean {
  return after < before ? id > after && id < before : id > after || id < before;
}
