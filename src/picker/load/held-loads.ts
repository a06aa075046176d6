import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { InFlightLoad, InFlightView } from '../../framework/keys.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { HeldSum } from '../../framework/routing.ts';
import { HeldPrompts } from './held-prompts.ts';

/** What one request that waits will bring to the endpoint that computes its prompt. */
export interface HeldLoad {
  readonly endpoint: Endpoint;
  readonly prefillTokens: number;
  readonly contextTokens: number;
  readonly prompt: PromptBlocks;
}

interface Sums {
  /** Of this endpoint for as long as something waits for it: a slot may get another endpoint. */
  readonly place: number;
  readonly id: EndpointId;
  requests: number;
  prefillTokens: number;
  contextTokens: number;
}

/**
 * The load in flight, with what waits at the picker for each endpoint: a request that is decided
 * now has to wait for those, too. Nothing of it is reserved: what waits may still go elsewhere.
 */
export class HeldLoads implements InFlightView {
  readonly #inFlight: InFlightView;
  /** By slot. */
  readonly #sums = new Map<number, Sums>();
  readonly #sumsOf = new Map<HeldLoad, Sums>();
  readonly #prompts = new HeldPrompts();
  #places = 0;
  /** Left out: that of the request which is decided. */
  #own: HeldLoad | undefined;
  #assumed: ReadonlyMap<EndpointId, HeldSum> | undefined;

  constructor(inFlight: InFlightView) {
    this.#inFlight = inFlight;
  }

  load(endpoint: Endpoint): InFlightLoad {
    const load = this.#inFlight.load(endpoint);
    if (this.#assumed !== undefined) return plus(load, this.#assumed.get(endpoint.id));
    const sums = this.#sums.size === 0 ? undefined : this.#sums.get(endpoint.slot);
    return sums === undefined ? load : plus(load, this.#ofOthers(sums));
  }

  /** As `InFlightView`; undefined while nothing waits. */
  sharedWith({ prompt }: InferenceRequest): ((endpoint: Endpoint) => number) | undefined {
    const assumed = this.#assumed;
    if (assumed !== undefined) return ({ id }) => assumed.get(id)?.[4] ?? 0;
    if (this.#sums.size === 0) return undefined;
    const own = this.#own && this.#sumsOf.get(this.#own)?.place;
    const shared = this.#prompts.sharedTokens(prompt, own);
    if (shared.size === 0) return undefined;
    return ({ slot }) => shared.get(this.#sums.get(slot)?.place ?? -1) ?? 0;
  }

  /** Calls `decide` as if this load were not there: that of the request which is decided. */
  without<T>(own: HeldLoad | undefined, decide: () => T): T {
    this.#own = own;
    try {
      return decide();
    } finally {
      this.#own = undefined;
    }
  }

  add(load: HeldLoad): void {
    const { id, slot } = load.endpoint;
    const sums = this.#sums.get(slot) ?? this.#sumsFor(id);
    this.#sums.set(slot, sums);
    this.#sumsOf.set(load, sums);
    count(sums, load, 1);
    this.#prompts.add(load.prompt, sums.place);
  }

  /** Only for a load that was added. */
  remove(load: HeldLoad): void {
    const sums = this.#takeOut(load);
    if (sums !== undefined) this.#prompts.remove(load.prompt, sums.place);
  }

  /** The request of `before`, which was added, waits with `after` from now on. */
  replace(before: HeldLoad, after: HeldLoad): void {
    const sums = this.#sumsOf.get(before);
    if (sums === undefined || sums !== this.#sums.get(after.endpoint.slot)) {
      this.remove(before);
      this.add(after);
    } else {
      count(sums, before, -1);
      count(sums, after, 1);
      this.#sumsOf.delete(before);
      this.#sumsOf.set(after, sums);
    }
  }

  forget({ slot }: Endpoint): void {
    this.#sums.delete(slot);
  }

  /** With what the request's prompt shares with those that wait. Undefined where nothing waits. */
  snapshot(request?: InferenceRequest): readonly HeldSum[] | undefined {
    if (this.#sums.size === 0) return undefined;
    const sharedBy = request && this.#prompts.sharedTokens(request.prompt);
    return [...this.#sums.values()].map((sums): HeldSum => {
      const shared = sharedBy?.get(sums.place) ?? 0;
      return shared === 0 ? summary(sums) : [...summary(sums), shared];
    });
  }

  /** Takes what a capture says in place of what waits here; undefined for what waits here. */
  assume(held: readonly HeldSum[] | undefined): void {
    this.#assumed = held && new Map(held.map((sum) => [sum[0], sum]));
  }

  #sumsFor(id: EndpointId): Sums {
    return { place: this.#places++, id, requests: 0, prefillTokens: 0, contextTokens: 0 };
  }

  #takeOut(load: HeldLoad): Sums | undefined {
    const sums = this.#sumsOf.get(load);
    if (sums === undefined) return undefined;
    this.#sumsOf.delete(load);
    count(sums, load, -1);
    const { slot } = load.endpoint;
    // The endpoint may have gone, and another may have its slot.
    if (sums.requests <= 0 && this.#sums.get(slot) === sums) this.#sums.delete(slot);
    return sums;
  }

  #ofOthers(sums: Sums): Summary {
    const own = this.#own;
    if (own === undefined || this.#sumsOf.get(own) !== sums) return summary(sums);
    const { id, requests, prefillTokens, contextTokens } = sums;
    return [id, requests - 1, prefillTokens - own.prefillTokens, contextTokens - own.contextTokens];
  }
}

function count(sums: Sums, { prefillTokens, contextTokens }: HeldLoad, sign: 1 | -1): void {
  sums.requests += sign;
  sums.prefillTokens += sign * prefillTokens;
  sums.contextTokens += sign * contextTokens;
}

type Summary = readonly [EndpointId, number, number, number];

function summary({ id, requests, prefillTokens, contextTokens }: Sums): Summary {
  return [id, requests, prefillTokens, contextTokens];
}

function plus(load: InFlightLoad, held: HeldSum | undefined): InFlightLoad {
  if (held === undefined) return load;
  const [, requests, prefillTokens, contextTokens] = held;
  return {
    requests: load.requests + requests,
    pendingPrefillTokens: load.pendingPrefillTokens + prefillTokens,
    contextTokens: load.contextTokens + contextTokens,
  };
}
