import type { FairShares, Share } from '../../flow/fair-shares.ts';
import type { InFlightLoad, InFlightView } from '../../framework/cycle-facts.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { HeldSum, RouteOptions } from '../../framework/routing.ts';
import type { SharedBeginning } from '../../framework/values/shared-beginning.ts';
import { HeldPrompts } from './held-prompts.ts';
import { type Asking, type HeldSize, HeldSums, plus, sharedOf } from './held-sums.ts';

/** The load that one waiting request will bring to the endpoint that computes its prompt. */
export interface HeldLoad extends HeldSize {
  readonly endpoint: Endpoint;
}

export interface KnownOfPool extends Required<Pick<InFlightView, 'computedMs'>> {
  /** A flow that has so many pending tokens crowds out the others. */
  readonly crowdedFrom: () => number;
}

/** What waited when a decision of a capture was made, in place of what waits here. */
interface Assumed {
  readonly sums: ReadonlyMap<EndpointId, HeldSum>;
  readonly crowdedOut: boolean;
}

/**
 * The load in flight, with what waits at the picker for each endpoint and goes before the request
 * that is decided. Nothing of it is reserved: what waits may still go elsewhere.
 */
export class HeldLoads implements InFlightView {
  readonly #inFlight: InFlightView;
  /** By slot. */
  readonly #sums = new Map<number, HeldSums>();
  readonly #sumsOf = new Map<HeldLoad, HeldSums>();
  readonly #prompts = new HeldPrompts();
  readonly #shares: FairShares;
  #places = 0;
  /** Whether flows that got less go before others. */
  isFair = true;
  #deciding: Asking | undefined;
  /** The load of the request that is decided: it is left out. */
  #own: HeldLoad | undefined;
  #assumed: Assumed | undefined;
  readonly #crowdedFrom: () => number;
  readonly computedMs: NonNullable<InFlightView['computedMs']>;

  constructor(inFlight: InFlightView, shares: FairShares, known: KnownOfPool) {
    this.#inFlight = inFlight;
    this.#shares = shares;
    this.#crowdedFrom = known.crowdedFrom;
    this.computedMs = known.computedMs;
  }

  shareOf(request: InferenceRequest): Share {
    return this.#shares.of(request);
  }

  /**
   * The request is decided next. All that is asked from now on is about this decision, until the
   * next one begins: with what waits here, or with what the options of a captured decision say.
   */
  begin(
    request: InferenceRequest,
    { heldBefore, crowdedOut = false }: Pick<RouteOptions, 'heldBefore' | 'crowdedOut'> = {},
  ): void {
    this.#assumed = heldBefore && {
      sums: new Map(heldBefore.map((sum) => [sum[0], sum])),
      crowdedOut,
    };
    this.#deciding = this.#sums.size === 0 ? undefined : this.#asking(request);
  }

  load(endpoint: Endpoint): InFlightLoad {
    const load = this.#inFlight.load(endpoint);
    const nothingWaits = this.#sums.size === 0 && this.#assumed === undefined;
    return nothingWaits ? load : this.#withHeld(load, endpoint);
  }

  /** See `InFlightView`; undefined while nothing waits. */
  sharedWith({
    prompt,
  }: InferenceRequest): ((endpoint: Endpoint) => SharedBeginning | undefined) | undefined {
    const assumed = this.#assumed;
    if (assumed !== undefined) return ({ id }) => sharedOf(assumed.sums.get(id));
    if (this.#sums.size === 0) return undefined;
    const own = this.#own && this.#sumsOf.get(this.#own)?.place;
    const shared = this.#prompts.sharedWith(prompt, own);
    if (shared.size === 0) return undefined;
    return ({ slot }) => shared.get(this.#sums.get(slot)?.place ?? -1);
  }

  isCrowdedOut(request: InferenceRequest): boolean {
    if (this.#assumed !== undefined) return this.#assumed.crowdedOut;
    if (!this.isFair || !this.#shares.someWait) return false;
    const ownTokens = this.#own === undefined ? 0 : request.promptTokens;
    return this.#shares.isCrowdedOut(this.#shares.of(request), ownTokens, this.#crowdedFrom);
  }

  /** Calls `decide` as if this load were not there. It is that of the request which is decided. */
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
    const sums = this.#sums.get(slot) ?? new HeldSums(this.#places++, id);
    this.#sums.set(slot, sums);
    this.#sumsOf.set(load, sums);
    sums.add(load);
    this.#prompts.add(load.request.prompt, sums.place);
  }

  /** May be called only for a load that was added. */
  remove(load: HeldLoad): void {
    const sums = this.#takeOut(load);
    if (sums !== undefined) this.#prompts.remove(load.request.prompt, sums.place);
  }

  /** The request of `before`, which was added, waits with `after` from now on. */
  replace(before: HeldLoad, after: HeldLoad): void {
    const sums = this.#sumsOf.get(before);
    if (sums === undefined || sums !== this.#sums.get(after.endpoint.slot)) {
      this.remove(before);
      this.add(after);
    } else {
      sums.remove(before);
      sums.add(after);
      this.#sumsOf.delete(before);
      this.#sumsOf.set(after, sums);
    }
  }

  forget({ slot }: Endpoint): void {
    this.#sums.delete(slot);
  }

  /**
   * What goes before the request, and how much of its prompt it shares with what waits; without a
   * request, all that waits. Undefined where nothing waits.
   */
  snapshot(request?: InferenceRequest): readonly HeldSum[] | undefined {
    if (this.#sums.size === 0) return undefined;
    const asking = request && this.#asking(request);
    const sharedBy = request && this.#prompts.sharedWith(request.prompt);
    return [...this.#sums.values()].map((sums): HeldSum => {
      const shared = sharedBy?.get(sums.place);
      const [id, requests, prefillTokens, contextTokens] = this.#before(sums, asking);
      const sum = [id, requests, prefillTokens, contextTokens] as const;
      return shared === undefined ? sum : [...sum, shared.tokens, shared.requests];
    });
  }

  #withHeld(load: InFlightLoad, { id, slot }: Endpoint): InFlightLoad {
    if (this.#assumed !== undefined) return plus(load, this.#assumed.sums.get(id));
    const sums = this.#sums.get(slot);
    return sums === undefined ? load : plus(load, this.#before(sums, this.#deciding));
  }

  #asking(request: InferenceRequest): Asking {
    return { request, share: this.#shares.of(request), isFair: this.isFair };
  }

  #before(sums: HeldSums, asking: Asking | undefined): HeldSum {
    if (asking === undefined) return sums.total();
    const own = this.#own;
    return sums.before(asking, own && this.#sumsOf.get(own) === sums ? own : undefined);
  }

  #takeOut(load: HeldLoad): HeldSums | undefined {
    const sums = this.#sumsOf.get(load);
    if (sums === undefined) return undefined;
    this.#sumsOf.delete(load);
    sums.remove(load);
    const { slot } = load.endpoint;
    // The endpoint may have gone, and another may have its slot.
    if (sums.requests <= 0 && this.#sums.get(slot) === sums) this.#sums.delete(slot);
    return sums;
  }
}
