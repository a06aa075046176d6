import { addressOfRank } from '../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { Ledger } from '../load/ledger.ts';
import type { CapacityPlan } from '../plan/capacity-plan.ts';
import { placesOf } from './capacity-part.ts';

/**
 * The bound of requests in flight at each endpoint. It holds exactly: the ledger counts a request
 * in the same step in which it is decided, so no two decisions can take the same place. With a
 * part, the places of other pickers are left to them, whatever is known of these. A request that is
 * taken for lost keeps its place: its server may have it after all.
 */
export class ConcurrencyLimit {
  readonly #ledger: Ledger;
  #plan: CapacityPlan | undefined;

  constructor(ledger: Ledger) {
    this.#ledger = ledger;
  }

  /** Undefined for no bound. Requests in flight beyond a lower bound end as they are. */
  configure(plan: CapacityPlan | undefined): void {
    this.#plan = plan;
  }

  /** The bound of all pickers together. Infinity where nothing bounds it. */
  of({ labels }: Endpoint): number {
    const { maxConcurrency = Number.POSITIVE_INFINITY, maxConcurrencyLabel } = this.#plan ?? {};
    if (maxConcurrencyLabel === undefined) return maxConcurrency;
    const written = labels.get(maxConcurrencyLabel);
    return written === undefined || !/^\d{1,9}$/.test(written) ? maxConcurrency : Number(written);
  }

  /** Whether one request more would be too many there. */
  isFull(endpoint: Endpoint): boolean {
    return this.#plan !== undefined && this.#roomAt(endpoint) <= 0;
  }

  /** How many more requests may be sent to all of them together. */
  roomAt(endpoints: readonly Endpoint[]): number {
    if (this.#plan === undefined) return Number.POSITIVE_INFINITY;
    return endpoints.reduce((sum, each) => sum + Math.max(0, this.#roomAt(each)), 0);
  }

  #roomAt(endpoint: Endpoint): number {
    const capacity = this.of(endpoint);
    const part = this.#plan?.part;
    if (part === undefined) return capacity - this.#ledger.occupied(endpoint);
    return placesOf(part, capacity, addressOfRank(endpoint)) - this.#ledger.occupiedHere(endpoint);
  }

  /** Those with room for one more; the same array where all have it. */
  withRoom(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    if (this.#plan === undefined || !endpoints.some((each) => this.isFull(each))) return endpoints;
    return endpoints.filter((each) => !this.isFull(each));
  }
}
