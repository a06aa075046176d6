import type { Share } from '../../flow/fair-shares.ts';
import { countedTokens, type InFlightLoad } from '../../framework/cycle-facts.ts';
import type { EndpointId } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { HeldSum } from '../../framework/routing.ts';
import type { SharedBeginning } from '../../framework/values/shared-beginning.ts';

/** The load that one waiting request will bring to its endpoint. */
export interface HeldSize {
  readonly request: InferenceRequest;
  /** The share of its flow. */
  readonly share: Share;
  readonly prefillTokens: number;
}

/** The request that is decided. */
export interface Asking {
  readonly request: InferenceRequest;
  readonly share: Share;
  /** Whether flows that got more come after the flow of this request. */
  readonly isFair: boolean;
}

/** The load that several waiting requests will bring to an endpoint. */
interface Sum {
  requests: number;
  prefillTokens: number;
  contextTokens: number;
}

/** What waits with one priority. */
interface OfPriority {
  readonly all: Sum;
  readonly flows: Map<Share, Sum>;
}

const NOTHING: Readonly<Sum> = { requests: 0, prefillTokens: 0, contextTokens: 0 };

/** What waits for one endpoint, in sums by priority and flow. */
export class HeldSums {
  /** Stands for this endpoint while something waits for it: its slot may get another endpoint. */
  readonly place: number;
  readonly #id: EndpointId;
  readonly #byPriority = new Map<number, OfPriority>();
  #requests = 0;

  constructor(place: number, id: EndpointId) {
    this.place = place;
    this.#id = id;
  }

  get requests(): number {
    return this.#requests;
  }

  add(size: HeldSize): void {
    this.#count(size, 1);
  }

  /** May be called only for one that was added. */
  remove(size: HeldSize): void {
    this.#count(size, -1);
  }

  /** The sum over all that wait. */
  total(): Ahead {
    const total = { ...NOTHING };
    for (const { all } of this.#byPriority.values()) increase(total, all);
    return this.#ahead(total);
  }

  /**
   * The sum over the requests that go before this one: those of higher priorities, those of its
   * flow, and of other flows as much as its flow gets meanwhile. `own` is the part of these sums
   * that the request itself makes.
   */
  before(asking: Asking, own: HeldSize | undefined): Ahead {
    const before = { ...NOTHING };
    for (const [priority, ofPriority] of this.#byPriority) {
      if (priority > asking.request.priority) increase(before, ofPriority.all);
      if (priority === asking.request.priority) addEquals(before, ofPriority, asking, own);
    }
    return this.#ahead(before);
  }

  #ahead({ requests, prefillTokens, contextTokens }: Sum): Ahead {
    return [this.#id, requests, prefillTokens, contextTokens];
  }

  #count(size: HeldSize, sign: 1 | -1): void {
    const { request, share } = size;
    const known = this.#byPriority.get(request.priority);
    const ofPriority = known ?? { all: { ...NOTHING }, flows: new Map<Share, Sum>() };
    const { all, flows } = ofPriority;
    const sum = flows.get(share) ?? { ...NOTHING };
    this.#requests += sign;
    change(all, size, sign);
    change(sum, size, sign);
    if (sum.requests > 0) flows.set(share, sum);
    else flows.delete(share);
    if (flows.size > 0) this.#byPriority.set(request.priority, ofPriority);
    else this.#byPriority.delete(request.priority);
  }
}

type Ahead = readonly [EndpointId, number, number, number];

/** Adds those with the priority of the request that go before it. */
function addEquals(
  before: Sum,
  { all, flows }: OfPriority,
  { request, share, isFair }: Asking,
  own: HeldSize | undefined,
): void {
  const ofFlow = flows.get(share) ?? NOTHING;
  const mine = { ...ofFlow };
  if (own !== undefined) change(mine, own, -1);
  increase(before, mine);
  const others = flows.size - (flows.has(share) ? 1 : 0);
  if (others === 0) return;
  const { promptTokens } = request;
  // Each other flow gets no more than this one has with the request that is decided.
  const ofOthers = (waiting: number, turn: number): number =>
    isFair ? Math.min(waiting, others * turn) : waiting;
  const { requests, prefillTokens, contextTokens } = ofFlow;
  increase(before, {
    requests: ofOthers(all.requests - requests, mine.requests + 1),
    prefillTokens: ofOthers(all.prefillTokens - prefillTokens, mine.prefillTokens + promptTokens),
    contextTokens: ofOthers(all.contextTokens - contextTokens, mine.contextTokens + promptTokens),
  });
}

/** The load in flight with what waits before a request. */
export function plus(load: InFlightLoad, held: HeldSum | undefined): InFlightLoad {
  if (held === undefined) return load;
  const [, requests, prefillTokens, contextTokens] = held;
  return {
    requests: load.requests + requests,
    pendingPrefillTokens: load.pendingPrefillTokens + prefillTokens,
    contextTokens: load.contextTokens + contextTokens,
    countedTokens: countedTokens(load) + prefillTokens,
    sentPrefillTokens: load.pendingPrefillTokens,
    begunRequests: load.begunRequests,
    runningMax: load.runningMax,
    keptShare: load.keptShare,
  };
}

/** What the prompt of the request has in common with those that wait there. */
export function sharedOf(held: HeldSum | undefined): SharedBeginning | undefined {
  const [, , , , tokens = 0, requests = 0] = held ?? [];
  return tokens === 0 ? undefined : { tokens, requests };
}

function change(sum: Sum, { request, prefillTokens }: HeldSize, sign: 1 | -1): void {
  sum.requests += sign;
  sum.prefillTokens += sign * prefillTokens;
  sum.contextTokens += sign * request.promptTokens;
}

function increase(sum: Sum, by: Readonly<Sum>): void {
  sum.requests += by.requests;
  sum.prefillTokens += by.prefillTokens;
  sum.contextTokens += by.contextTokens;
}
