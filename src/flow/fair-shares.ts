import type { Outcome, RequestObserver, Routed, Usage } from '../framework/observer.ts';
import { DEFAULT_FLOW, type InferenceRequest } from '../framework/request.ts';
import { RequestMap } from '../framework/request-map.ts';
import type { Millis } from '../framework/runtime.ts';
import { IndexedHeap } from './indexed-heap.ts';

/** One flow: the requests of a tenant, of an agent's program, with one objective, or of a model. */
export interface Share {
  /** The cost of what it got, in tokens: the flow with the least is next. */
  served: number;
  /** Requests that wait, and those that were placed and have not ended. */
  waiting: number;
  inFlight: number;
  /** Tokens of its prompts that wait, or that were placed and have no first token yet. */
  pendingTokens: number;
  /** Mean length of its answers. */
  outputTokens: number;
}

/** An output token costs about twice what a prompt token costs. */
const OUTPUT_WEIGHT = 2;
/** Length of an answer until the flow has had one. */
const OUTPUT_TOKENS_PRIOR = 256;
/** Weight of the newest answer of a flow. */
const ANSWER_WEIGHT = 0.1;
/** What a flow may save by leaving its share unused, in its requests: see decision 144. */
const SAVED_REQUESTS = 8;
/** Flows without requests are looked for when there are so many more flows than before. */
const SWEPT_FLOWS = 1000;

/**
 * What each flow has got, also where nothing waited, so that those who got least go first where
 * several wait. It observes all requests. A flow is named by its fairness id, or else by the
 * objective or the model of its requests.
 */
export class FairShares implements RequestObserver {
  readonly #shares = new Map<string, Share>();
  /** Those with requests. */
  readonly #active = new IndexedHeap<Share>((a, b) => a.served < b.served);
  /** Those with requests that wait: the one with most pending tokens first. */
  readonly #waiting = new IndexedHeap<Share>((a, b) => a.pendingTokens > b.pendingTokens);
  /** Placed, and without a first token. */
  readonly #pending = new RequestMap<true>();
  /** The most that a flow had got when one of its requests was placed. */
  #reached = 0;
  #sweptAt = SWEPT_FLOWS;

  of({ fairnessId, objective, model }: InferenceRequest): Share {
    const name = fairnessId === DEFAULT_FLOW ? (objective ?? model) : fairnessId;
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#sweptAt) this.#sweep();
    const idle = { waiting: 0, inFlight: 0, pendingTokens: 0 };
    const made: Share = { served: this.#reached, ...idle, outputTokens: OUTPUT_TOKENS_PRIOR };
    this.#shares.set(name, made);
    return made;
  }

  get someWait(): boolean {
    return this.#waiting.size > 0;
  }

  /** Whether another flow that has requests now has got less. */
  isAhead({ served }: Share): boolean {
    const least = this.#active.first;
    return least !== undefined && least.served < served;
  }

  /**
   * Whether the flow has got more than another one, and has more tokens pending than `crowdedFrom`.
   */
  crowds(share: Share, crowdedFrom: () => number): boolean {
    return this.isAhead(share) && share.pendingTokens > crowdedFrom();
  }

  /**
   * Whether this flow does not crowd, and another one that waits and has got more does. `ownTokens`
   * of it are left out: those of the request that is decided, if it waits.
   */
  isCrowdedOut(share: Share, ownTokens: number, crowdedFrom: () => number): boolean {
    const most = this.#waiting.first;
    if (most === undefined || most === share || most.served <= share.served) return false;
    const tokens = crowdedFrom();
    return most.pendingTokens > tokens && share.pendingTokens - ownTokens <= tokens;
  }

  /** A request of the flow waits, here or in flow control. */
  waits(share: Share, { promptTokens }: InferenceRequest): void {
    this.#capSavings(share, promptTokens);
    share.waiting += 1;
    this.#pend(share, promptTokens);
  }

  /** A request that waited does not wait any more. */
  leaves(share: Share, { promptTokens }: InferenceRequest): void {
    share.waiting -= 1;
    this.#pend(share, -promptTokens);
    this.#dropIdle(share);
  }

  onRouted(routed: Routed): void {
    const { request, firstTokenVisible } = routed;
    const share = this.of(request);
    const tokens = tokensOf(routed);
    this.#capSavings(share, tokens);
    share.inFlight += 1;
    if (firstTokenVisible) {
      this.#pending.set(routed, true);
      this.#pend(share, tokens);
    }
    this.#reached = Math.max(this.#reached, share.served);
    share.served += costOf(share, tokens);
    this.#active.update(share);
  }

  onFirstToken(routed: Routed): void {
    if (this.#pending.delete(routed) === undefined) return;
    this.#pend(this.of(routed.request), -tokensOf(routed));
  }

  onDone(routed: Routed, _at: Millis, _outcome: Outcome, usage: Usage | undefined): void {
    this.onFirstToken(routed);
    const share = this.of(routed.request);
    const { completionTokens } = usage ?? {};
    if (completionTokens !== undefined) {
      share.outputTokens += ANSWER_WEIGHT * (completionTokens - share.outputTokens);
    }
    share.inFlight -= 1;
    this.#dropIdle(share);
  }

  /** A flow that has nothing waiting has saved up no more than a few requests. */
  #capSavings(share: Share, tokens: number): void {
    if (share.waiting === 0) {
      const saved = SAVED_REQUESTS * costOf(share, tokens);
      share.served = Math.max(share.served, this.#reached - saved);
    }
    this.#active.update(share);
  }

  #pend(share: Share, tokens: number): void {
    share.pendingTokens += tokens;
    if (share.waiting > 0) this.#waiting.update(share);
    else this.#waiting.delete(share);
  }

  #dropIdle(share: Share): void {
    if (share.waiting + share.inFlight === 0) this.#active.delete(share);
  }

  #sweep(): void {
    for (const [name, share] of this.#shares) {
      if (!this.#active.has(share)) this.#shares.delete(name);
    }
    this.#sweptAt = this.#shares.size + SWEPT_FLOWS;
  }
}

/** What has to be computed of the prompt. */
function tokensOf({ request, cachedTokens }: Routed): number {
  return Math.max(0, request.promptTokens - cachedTokens);
}

function costOf({ outputTokens }: Share, tokens: number): number {
  return 1 + tokens + OUTPUT_WEIGHT * outputTokens;
}
