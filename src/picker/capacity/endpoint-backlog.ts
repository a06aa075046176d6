import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { heldShare } from '../../cost-model/held-memory.ts';
import { shownCapacityTokens } from '../../cost-model/shown-capacity.ts';
import { decodeStepMs } from '../../cost-model/step-time.ts';
import type { Lateness } from '../../flow/endpoint-queue.ts';
import { type Endpoint, isFresh } from '../../framework/endpoint.ts';
import { CACHE_CONFIG } from '../../framework/endpoint-attributes.ts';
import {
  type EndpointObserver,
  type Outcome,
  type RequestObserver,
  type Routed,
  tokensToCompute,
  type Usage,
} from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EngineModel } from '../engine-model/engine-model.ts';
import type { Ledger } from '../load/ledger.ts';
import type { AdapterSlots } from './adapter-slots.ts';
import type { ConcurrencyLimit } from './concurrency-limit.ts';
import { EngineCounts, promptsForAll } from './engine-counts.ts';
import { ReportedPrompts } from './reported-prompts.ts';
import { SentPrompts } from './sent-prompts.ts';
import { SharedSteps } from './shared-steps.ts';

/** An endpoint is sent prompts for so many steps: the one that it computes, and the next one. */
const STEPS = 2;
/**
 * A flow that has got more than others waits from so many steps of pending prompts on, for each
 * endpoint.
 */
const CROWDED_STEPS = 0.5;
/**
 * So many requests may wait at a server that runs as many as it can: the next one begins without a
 * gap, and shows whether the server would run more.
 */
const SLOT_WAITERS = 1;
/** The `pendingBelow` with which no prompt may be pending. */
export const NOTHING_PENDING = 1;

export interface EndpointBacklogOptions {
  readonly ledger: Ledger;
  readonly engineModel: EngineModel;
  readonly limit: ConcurrencyLimit;
  readonly slots: AdapterSlots;
}

/** Where a request would go. */
interface Places {
  readonly endpoint: Endpoint;
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill: Endpoint | undefined;
  /** The adapter that it needs a slot for, if any. */
  readonly adapter: string | undefined;
}

/**
 * Says which endpoints can begin one more request. An endpoint is open while the prompts that are
 * not computed there do not fill the step that runs and the next one: a further prompt would only
 * wait in the engine's queue, where the picker cannot move it any more. It is closed while one of
 * our requests waits there for memory, and to requests whose adapter has no slot there. An endpoint
 * with several engines is also open while one of them can be without a prompt, because its server
 * sends a request to the engine that has the fewest. What the picker does not know must not stop a
 * pool. So an endpoint with room for one more is open where nothing of ours is in flight, where it
 * reports that it does nothing, and where all that was sent should have been done long ago.
 */
export class EndpointBacklog implements EndpointObserver, RequestObserver {
  readonly #options: EndpointBacklogOptions;
  readonly #sent = new SentPrompts();
  readonly #engines = new EngineCounts();
  readonly #reported: ReportedPrompts;
  readonly #sharing: SharedSteps;

  constructor(options: EndpointBacklogOptions) {
    this.#options = options;
    const { ledger, engineModel } = options;
    this.#sharing = new SharedSteps(ledger);
    this.#reported = new ReportedPrompts(ledger, engineModel.adapters);
  }

  onEndpointAdded(endpoint: Endpoint): void {
    this.#engines.onEndpointAdded(endpoint);
  }

  onEndpointChanged(endpoint: Endpoint, { metrics }: Endpoint): void {
    this.#engines.onEndpointChanged(endpoint);
    if (metrics !== endpoint.metrics) this.#reported.sampled(endpoint);
  }

  onEndpointRemoved({ slot }: Endpoint): void {
    this.#sent.forget(slot);
    this.#reported.forget(slot);
    this.#sharing.forget(slot);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    this.#reported.onFirstToken(routed, at);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    this.#reported.onDone(routed, at, outcome, usage);
    this.#sharing.onDone(routed);
  }

  /** The request has been sent there. */
  routed(routed: Routed): void {
    const { endpoint, prefill, at } = routed;
    const computes = prefill ?? endpoint;
    const { ledger, engineModel } = this.#options;
    const engine = engineModel.stepTime(computes);
    const engines = this.#engines.of(computes);
    const load = ledger.load(computes);
    this.#sharing.sent(routed, engine);
    this.#reported.sent(routed, engine, engines);
    const stepMs = decodeStepMs(load.requests / engines, load.contextTokens / engines, engine);
    const ownMs = engine.perPrefillTokenMs * tokensToCompute(routed) + stepMs;
    this.#sent.add(computes, at, ownMs, engines);
  }

  /**
   * Whether the request can begin now; with `pendingBelow`, whether it can where fewer tokens of
   * prompts are pending.
   */
  isOpenFor({ endpoint, prefill, adapter }: Places, at: Millis, pendingBelow?: number): boolean {
    if (prefill === undefined) {
      return this.isOpen(endpoint, at, pendingBelow) && this.hasSlot(endpoint, adapter);
    }
    const { limit } = this.#options;
    if (limit.isFull(endpoint) || limit.isFull(prefill)) return false;
    return this.#canPrefill(prefill, at, pendingBelow);
  }

  /** Whether a request with this adapter, if any, can run beside what is in flight there. */
  hasSlot(endpoint: Endpoint, adapter: string | undefined): boolean {
    if (adapter === undefined || this.#sent.isIdle(endpoint)) return true;
    return this.#options.slots.hasRoom(endpoint, adapter);
  }

  /**
   * What `pendingBelow` is for a request with so many tokens to compute, where some of its flow are
   * late: nothing may be pending, or no more than fits in one step with it.
   */
  pendingBelowForLate(endpoint: Endpoint, tokens: number, lateness: Lateness): number {
    const engine = this.#options.engineModel.stepTime(endpoint);
    const engines = this.#engines.of(endpoint);
    if (!this.#sharing.areWorthIt(endpoint, { tokens, lateness, engine, engines })) {
      return NOTHING_PENDING;
    }
    return Math.max(NOTHING_PENDING, engine.prefillTokensMax * engines - tokens + 1);
  }

  /** From so many pending tokens on, one flow would crowd out the others of so many endpoints. */
  crowdedFrom(endpoints: readonly Endpoint[]): number {
    const [first] = endpoints;
    if (first === undefined) return 0;
    const { prefillTokensMax } = this.#options.engineModel.stepTime(first);
    let engines = 0;
    for (const endpoint of endpoints) engines += this.#engines.of(endpoint);
    return CROWDED_STEPS * prefillTokensMax * engines;
  }

  /**
   * For how long the prompts that are pending there should have been computed already. What is
   * overdue is expected to take as long again.
   */
  readonly computedMs = (endpoint: Endpoint, at: Millis): Millis => {
    const { ledger, engineModel } = this.#options;
    const { perPrefillTokenMs } = engineModel.stepTime(endpoint);
    const allMs = perPrefillTokenMs * ledger.load(endpoint).pendingPrefillTokens;
    const pendingMs = allMs / this.#engines.of(endpoint);
    const until = this.#sent.sharedUntil(endpoint);
    return until === undefined ? 0 : Math.max(0, pendingMs - Math.abs(until - at));
  };

  /** Whether one of several engines has no prompt to compute, as requests are spread among them. */
  #hasFreeEngine(endpoint: Endpoint, at: Millis): boolean {
    const engines = this.#engines.of(endpoint);
    if (engines === 1) return false;
    const ours = this.#options.ledger.pendingRequests(endpoint);
    return ours + this.#reported.requests(endpoint, at) < promptsForAll(engines);
  }

  /** Whether it is open to requests that are computed and answered there. */
  isOpen(endpoint: Endpoint, at: Millis, pendingBelow?: number): boolean {
    const { ledger, engineModel, limit } = this.#options;
    if (limit.isFull(endpoint)) return false;
    const { requests, pendingPrefillTokens, runningMax } = ledger.load(endpoint);
    if (requests === 0 || this.#sent.isIdle(endpoint)) return true;
    const waiters = pendingBelow === NOTHING_PENDING ? 0 : SLOT_WAITERS;
    if (runningMax !== undefined && requests >= runningMax + waiters) return false;
    if (this.#lacksMemory(endpoint, pendingPrefillTokens, at)) return false;
    const tokens = pendingPrefillTokens + this.#reported.tokens(endpoint, at);
    const { prefillTokensMax } = engineModel.stepTime(endpoint);
    const tokensMax = pendingBelow ?? STEPS * prefillTokensMax * this.#engines.of(endpoint);
    if (tokens < tokensMax || this.#hasFreeEngine(endpoint, at)) return true;
    return this.#sent.isOverdue(endpoint, at);
  }

  /**
   * Whether it is open to prompts that are computed there and answered elsewhere. Their first
   * tokens come from the other server, and late, so the time that the prompts should take counts,
   * too.
   */
  #canPrefill(endpoint: Endpoint, at: Millis, pendingBelow: number | undefined): boolean {
    const { ledger, engineModel } = this.#options;
    const { prefillTokensMax, perPrefillTokenMs } = engineModel.stepTime(endpoint);
    const engines = this.#engines.of(endpoint);
    const tokensMax =
      pendingBelow === undefined ? STEPS * prefillTokensMax : pendingBelow / engines;
    const pending = ledger.load(endpoint).pendingPrefillTokens / engines;
    if (pending < tokensMax || this.#hasFreeEngine(endpoint, at)) return true;
    const leftMs = (this.#sent.sharedUntil(endpoint) ?? at) - at;
    return leftMs < tokensMax * perPrefillTokenMs;
  }

  /**
   * Whether one of our requests waits there for KV memory, as far as the engine reports it: a
   * further one would wait behind it. Full memory alone is no reason, because some engines count in
   * it what they could give away. Nor does it count where none of ours waits: others would get all
   * memory that becomes free.
   */
  #lacksMemory(endpoint: Endpoint, pendingTokens: number, at: Millis): boolean {
    if (endpoint.metrics.waitingQueueSize === 0 || !isFresh(endpoint, at)) return false;
    if (this.#options.ledger.pendingRequests(endpoint) === 0) return false;
    const cache = endpoint.attribute(CACHE_CONFIG);
    const load = this.#options.ledger.load(endpoint);
    const memoryTokens =
      cache === undefined ? shownCapacityTokens(load, endpoint) : cache.blocks * cache.blockTokens;
    if (memoryTokens === undefined) return false;
    const share = heldShare(loadPerEngine(load, endpoint), endpoint, memoryTokens);
    return pendingTokens / this.#engines.of(endpoint) >= (1 - share) * memoryTokens;
  }
}
