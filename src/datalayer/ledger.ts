import type { Endpoint } from '../framework/endpoint.ts';
import { IN_FLIGHT, type InFlightLoad, type InFlightView } from '../framework/keys.ts';
import type { EndpointObserver } from '../framework/observer.ts';
import type { CycleFact } from '../framework/plugin.ts';

/** What one request holds of an endpoint. Whole tokens: sums of whole numbers come back to exactly zero. */
export interface ReservationSize {
  readonly prefillTokens: number;
  /** Prompt and expected output. */
  readonly contextTokens: number;
}

/** A request's place in the ledger. Every method may be called in any order and any number of times. */
export interface Reservation {
  /** The prefill is done: its tokens no longer wait. */
  prefilled(): void;
  /** The request runs somewhere else after all. */
  moveTo(endpoint: Endpoint): void;
  /** Gives back all that is still held. */
  release(): void;
}

interface Account {
  requests: number;
  pendingPrefillTokens: number;
  contextTokens: number;
}

const NOTHING: InFlightLoad = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/**
 * What we ourselves have sent to each endpoint and not yet seen the end of: the one place where it is counted.
 * An endpoint that goes takes its account along; requests still on it settle with that account, not with whoever
 * is given its slot next.
 */
export class Ledger implements EndpointObserver, InFlightView {
  readonly #accounts: (Account | undefined)[] = [];

  /** The ledger as a fact of the cycle. */
  readonly fact: CycleFact<InFlightView> = { key: IN_FLIGHT, compute: () => this };

  onEndpointAdded(endpoint: Endpoint): void {
    this.#accounts[endpoint.slot] = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#accounts[endpoint.slot] = undefined;
  }

  load(endpoint: Endpoint): InFlightLoad {
    return this.#accounts[endpoint.slot] ?? NOTHING;
  }

  reserve(endpoint: Endpoint, size: ReservationSize): Reservation {
    let account = this.#accounts[endpoint.slot];
    let prefillTokens = Math.ceil(size.prefillTokens);
    const contextTokens = Math.ceil(size.contextTokens);
    let open = true;
    const give = (sign: 1 | -1): void => {
      if (account === undefined) return;
      account.requests += sign;
      account.pendingPrefillTokens += sign * prefillTokens;
      account.contextTokens += sign * contextTokens;
    };
    give(1);
    return {
      prefilled: () => {
        if (!open) return;
        if (account !== undefined) account.pendingPrefillTokens -= prefillTokens;
        prefillTokens = 0;
      },
      moveTo: (next) => {
        if (!open) return;
        give(-1);
        account = this.#accounts[next.slot];
        give(1);
      },
      release: () => {
        if (!open) return;
        open = false;
        give(-1);
      },
    };
  }
}
