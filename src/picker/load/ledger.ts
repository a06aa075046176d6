import type { Endpoint } from '../../framework/endpoint.ts';
import {
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
} from '../../framework/keys.ts';
import type { EndpointObserver } from '../../framework/observer.ts';
import type { CycleFact } from '../../framework/plugin.ts';

/** One request's load at an endpoint, in whole tokens, so that sums return to exactly zero. */
export interface ReservationSize {
  readonly model: string;
  readonly prefillTokens: number;
  /** Prompt and expected output. */
  readonly contextTokens: number;
  /** What counts until the first token; `prefillTokens` where it is left out. */
  readonly countedTokens?: number | undefined;
  /** What counts until the end, in place of that. */
  readonly keptTokens?: number | undefined;
}

/** Where requests are reserved: the ledger, for this picker's requests or for those of others. */
export type ReservingLedger = Pick<Ledger, 'load' | 'reserve'>;

/** One request's reservation. Its methods may be called in any order and any number of times. */
export interface Reservation {
  /** The prefill is done: its tokens are no longer pending. */
  prefilled(): void;
  /** Moves the reservation to the endpoint that really serves the request. */
  moveTo(endpoint: Endpoint): void;
  /** Releases what is still reserved. */
  release(): void;
}

/** What is in flight at one endpoint. */
interface EndpointEntry {
  readonly load: {
    requests: number;
    pendingPrefillTokens: number;
    contextTokens: number;
    countedTokens: number;
    begunRequests: number;
  };
  /** Requests that other replicas have sent, which `load` has, too. */
  elsewhere: number;
  /** Model → requests. */
  readonly models: Map<string, number>;
  /**
   * The entry of an endpoint with this address that left the pool, where its requests have not
   * ended.
   */
  readonly former: EndpointEntry | undefined;
}

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
  /** By address: endpoints that left the pool while they had requests. */
  readonly #left = new Map<string, EndpointEntry>();

  /** The ledger as facts for scorers and filters. */
  readonly facts: readonly CycleFact<unknown>[] = [
    { key: IN_FLIGHT, compute: (): InFlightView => this },
    { key: MODELS_IN_FLIGHT, compute: (): ModelsInFlightView => this },
  ];

  /** The same ledger, for requests that other replicas of this picker have sent. */
  readonly elsewhere: ReservingLedger = {
    load: (endpoint) => this.load(endpoint),
    reserve: (endpoint, size) => this.#reserve(endpoint, size, true),
  };

  onEndpointAdded(endpoint: Endpoint): void {
    this.#entries[endpoint.slot] = {
      load: {
        requests: 0,
        pendingPrefillTokens: 0,
        contextTokens: 0,
        countedTokens: 0,
        begunRequests: 0,
      },
      models: new Map(),
      elsewhere: 0,
      former: this.#left.get(endpoint.address),
    };
    this.#left.delete(endpoint.address);
    this.#freed += 1;
  }

  onEndpointRemoved({ slot, address }: Endpoint): void {
    const entry = this.#entries[slot];
    this.#entries[slot] = undefined;
    for (const [each, left] of this.#left) if (openIn(left, 'all') === 0) this.#left.delete(each);
    if (entry !== undefined && openIn(entry, 'all') > 0) this.#left.set(address, entry);
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

  get freed(): number {
    return this.#freed;
  }

  /** Requests there whose prompts are not computed yet. */
  pendingRequests(endpoint: Endpoint): number {
    const { requests, begunRequests = 0 } = this.load(endpoint);
    return requests - begunRequests;
  }

  models(endpoint: Endpoint): ReadonlyMap<string, number> {
    return this.#entries[endpoint.slot]?.models ?? NO_MODELS;
  }

  reserve(endpoint: Endpoint, size: ReservationSize): Reservation {
    return this.#reserve(endpoint, size, false);
  }

  #reserve(endpoint: Endpoint, size: ReservationSize, isElsewhere: boolean): Reservation {
    let entry = this.#entries[endpoint.slot];
    let prefillTokens = Math.ceil(size.prefillTokens);
    const contextTokens = Math.ceil(size.contextTokens);
    const isKept = size.keptTokens !== undefined;
    let counted = Math.ceil(size.keptTokens ?? size.countedTokens ?? size.prefillTokens);
    let open = true;
    let begun: 0 | 1 = 0;
    const add = (sign: 1 | -1): void => {
      if (sign < 0) this.#freed += 1;
      if (entry === undefined) return;
      const { load, models } = entry;
      load.requests += sign;
      load.begunRequests += sign * begun;
      if (isElsewhere) entry.elsewhere += sign;
      load.pendingPrefillTokens += sign * prefillTokens;
      load.contextTokens += sign * contextTokens;
      load.countedTokens += sign * counted;
      const count = (models.get(size.model) ?? 0) + sign;
      if (count > 0) models.set(size.model, count);
      else models.delete(size.model);
    };
    add(1);
    return {
      prefilled: () => {
        if (!open) return;
        if (entry !== undefined) {
          entry.load.pendingPrefillTokens -= prefillTokens;
          if (!isKept) entry.load.countedTokens -= counted;
          entry.load.begunRequests += 1 - begun;
        }
        prefillTokens = 0;
        if (!isKept) counted = 0;
        begun = 1;
        this.#freed += 1;
      },
      moveTo: (next) => {
        if (!open) return;
        add(-1);
        entry = this.#entries[next.slot];
        add(1);
      },
      release: () => {
        if (!open) return;
        open = false;
        add(-1);
      },
    };
  }
}

/** The requests at the address of an endpoint, also of before it left the pool. */
function openIn(entry: EndpointEntry, of: 'all' | 'here'): number {
  let open = 0;
  for (let each: EndpointEntry | undefined = entry; each !== undefined; each = each.former) {
    open += of === 'all' ? each.load.requests : each.load.requests - each.elsewhere;
  }
  return open;
}
