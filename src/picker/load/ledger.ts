import {
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
} from '../../framework/cycle-facts.ts';
import { addressOfRank } from '../../framework/data-parallel-rank.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointObserver } from '../../framework/observer.ts';
import type { CycleFact } from '../../framework/plugin.ts';
import { EndpointEntry, openIn } from './endpoint-entry.ts';
import {
  EndpointReservation,
  type ReservationSize,
  type SentFrom,
} from './endpoint-reservation.ts';

/** Where requests are reserved: the ledger, for this picker's requests or for those of others. */
export type ReservingLedger = Pick<Ledger, 'load' | 'reserve'>;

const NO_MODELS: ReadonlyMap<string, number> = new Map();
const NOTHING: InFlightLoad = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/**
 * Counts what this picker has sent to each endpoint and what has not ended yet. The entry of an
 * endpoint is dropped when the endpoint is removed: its requests are then released there, and not
 * at the endpoint that gets the slot next.
 */
export class Ledger implements EndpointObserver, InFlightView, ModelsInFlightView {
  /** By slot. */
  readonly #entries: (EndpointEntry | undefined)[] = [];
  /** Grows each time that an endpoint becomes freer: then what waits is looked at again. */
  #freed = 0;
  /** By place: endpoints that left the pool while they had requests. */
  readonly #left = new Map<string, EndpointEntry>();

  /** The ledger as facts for scorers and filters. */
  readonly facts: readonly CycleFact<unknown>[] = [
    { key: IN_FLIGHT, compute: (): InFlightView => this },
    { key: MODELS_IN_FLIGHT, compute: (): ModelsInFlightView => this },
  ];

  /** The same ledger, for requests that other replicas of this picker have sent. */
  readonly elsewhere: ReservingLedger = {
    load: (endpoint) => this.load(endpoint),
    reserve: (endpoint, size) => this.#reserve(endpoint, size, 'elsewhere'),
  };

  onEndpointAdded(endpoint: Endpoint): void {
    this.#entries[endpoint.slot] = new EndpointEntry(this.#left.get(addressOfRank(endpoint)));
    this.#left.delete(addressOfRank(endpoint));
    this.#freed += 1;
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    const { slot } = endpoint;
    const entry = this.#entries[slot];
    this.#entries[slot] = undefined;
    for (const [each, left] of this.#left) if (openIn(left, 'all') === 0) this.#left.delete(each);
    if (entry !== undefined && openIn(entry, 'all') > 0)
      this.#left.set(addressOfRank(endpoint), entry);
  }

  load(endpoint: Endpoint): InFlightLoad {
    return this.#entries[endpoint.slot]?.load ?? NOTHING;
  }

  /**
   * The requests in flight at the address of the endpoint, with those that were sent there before
   * it left the pool and came back: its server may still work on them.
   */
  occupied({ slot }: Endpoint): number {
    const entry = this.#entries[slot];
    return entry === undefined ? 0 : openIn(entry, 'all');
  }

  /** Counts what `occupied` counts, without the requests that other replicas have sent. */
  occupiedHere({ slot }: Endpoint): number {
    const entry = this.#entries[slot];
    return entry === undefined ? 0 : openIn(entry, 'here');
  }

  /** How many of the requests in flight there are taken for lost: `load` is without them. */
  lost({ slot }: Endpoint): number {
    return this.#entries[slot]?.lost ?? 0;
  }

  get freed(): number {
    return this.#freed;
  }

  becameFreer(): void {
    this.#freed += 1;
  }

  entryOf({ slot }: Endpoint): EndpointEntry | undefined {
    return this.#entries[slot];
  }

  /** Requests there whose prompts are not computed yet. */
  pendingRequests(endpoint: Endpoint): number {
    const { requests, begunRequests = 0 } = this.load(endpoint);
    return requests - begunRequests;
  }

  models(endpoint: Endpoint): ReadonlyMap<string, number> {
    return this.#entries[endpoint.slot]?.models ?? NO_MODELS;
  }

  reserve(endpoint: Endpoint, size: ReservationSize): EndpointReservation {
    return this.#reserve(endpoint, size, 'here');
  }

  #reserve(endpoint: Endpoint, size: ReservationSize, sentFrom: SentFrom): EndpointReservation {
    return new EndpointReservation(this, this.#entries[endpoint.slot], size, sentFrom);
  }
}
