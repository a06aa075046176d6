import type { Endpoint } from '../framework/endpoint.ts';
import {
  IN_FLIGHT,
  type InFlightLoad,
  type InFlightView,
  MODELS_IN_FLIGHT,
  type ModelsInFlightView,
} from '../framework/keys.ts';
import type { EndpointObserver } from '../framework/observer.ts';
import type { CycleFact } from '../framework/plugin.ts';

/** What one request holds of an endpoint. Whole tokens: sums of whole numbers come back to exactly zero. */
export interface ReservationSize {
  readonly model: string;
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

interface Books {
  readonly account: Account;
  readonly models: Map<string, number>;
}

const NO_MODELS: ReadonlyMap<string, number> = new Map();
const NOTHING: InFlightLoad = { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 };

/**
 * What we ourselves have sent to each endpoint and not yet seen the end of: the one place where it is counted.
 * An endpoint that goes takes its account along; requests still on it settle with that account, not with whoever
 * is given its slot next.
 */
export class Ledger implements EndpointObserver, InFlightView, ModelsInFlightView {
  readonly #books: (Books | undefined)[] = [];

  /** The ledger as facts of the cycle. */
  readonly facts: readonly CycleFact<unknown>[] = [
    { key: IN_FLIGHT, compute: (): InFlightView => this },
    { key: MODELS_IN_FLIGHT, compute: (): ModelsInFlightView => this },
  ];

  onEndpointAdded(endpoint: Endpoint): void {
    this.#books[endpoint.slot] = {
      account: { requests: 0, pendingPrefillTokens: 0, contextTokens: 0 },
      models: new Map(),
    };
  }

  onEndpointRemoved(endpoint: Endpoint): void {
    this.#books[endpoint.slot] = undefined;
  }

  load(endpoint: Endpoint): InFlightLoad {
    return this.#books[endpoint.slot]?.account ?? NOTHING;
  }

  models(endpoint: Endpoint): ReadonlyMap<string, number> {
    return this.#books[endpoint.slot]?.models ?? NO_MODELS;
  }

  reserve(endpoint: Endpoint, size: ReservationSize): Reservation {
    let books = this.#books[endpoint.slot];
    let prefillTokens = Math.ceil(size.prefillTokens);
    const contextTokens = Math.ceil(size.contextTokens);
    let open = true;
    const give = (sign: 1 | -1): void => {
      if (books === undefined) return;
      const { account, models } = books;
      account.requests += sign;
      account.pendingPrefillTokens += sign * prefillTokens;
      account.contextTokens += sign * contextTokens;
      const count = (models.get(size.model) ?? 0) + sign;
      if (count > 0) models.set(size.model, count);
      else models.delete(size.model);
    };
    give(1);
    return {
      prefilled: () => {
        if (!open) return;
        if (books !== undefined) books.account.pendingPrefillTokens -= prefillTokens;
        prefillTokens = 0;
      },
      moveTo: (next) => {
        if (!open) return;
        give(-1);
        books = this.#books[next.slot];
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
