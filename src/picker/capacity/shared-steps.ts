import { loadPerEngine } from '../../cost-model/engine-load.ts';
import { decodeStepMs } from '../../cost-model/step-time.ts';
import type { Lateness } from '../../flow/endpoint-queue.ts';
import type { StepTime } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { type RequestObserver, type Routed, tokensToCompute } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { RecentDemand } from '../engine-model/recent-demand.ts';
import type { Ledger } from '../load/ledger.ts';
import { InTimeRequests } from './in-time-requests.ts';

/** A late request, or one in time of the same flow, that might go to an endpoint. */
export interface Candidate {
  /** Tokens of its prompt that are to be computed. */
  readonly tokens: number;
  /** What waits there with it. */
  readonly lateness: Lateness;
  /** The engine there, and how many of them share the address. */
  readonly engine: StepTime;
  readonly engines: number;
}

/**
 * Says where prompts of a flow with late requests share a step. It learns from what is sent how much
 * time the found beginnings of prompts save there.
 */
export class SharedSteps implements RequestObserver {
  readonly #ledger: Pick<Ledger, 'load'>;
  readonly #inTime = new InTimeRequests();
  /** The time of what was found cached of each request, by slot. */
  readonly #found = new RecentDemand();

  constructor(ledger: Pick<Ledger, 'load'>) {
    this.#ledger = ledger;
  }

  /** The request has been sent to an engine that takes such times for its steps. */
  sent(routed: Routed, engine: StepTime): void {
    const { request, prefill, endpoint, at } = routed;
    this.#inTime.sent(routed, engine);
    const foundTokens = request.promptTokens - tokensToCompute(routed);
    const workMs = engine.perPrefillTokenMs * foundTokens;
    this.#found.add((prefill ?? endpoint).slot, { requests: 1, workMs }, at);
  }

  onDone(routed: Routed): void {
    this.#inTime.onDone(routed);
  }

  forget(slot: number): void {
    this.#inTime.forget(slot);
    this.#found.forget(slot);
  }

  /**
   * Whether prompts of the flow may share a step there. Where no answer in time is under way,
   * nobody is harmed. Else the waiting prompts that are in time must fit in one step, because then
   * the servers can carry the load, and the late ones must not, because then a burst has left them.
   * And it must save more than it costs: one more prompt in a step brings all late ones forward by
   * the fixed time of a step, and delays each answer in time by its own time. The late ones take
   * memory from cached beginnings, too, so what these save for a request may be lost.
   */
  areWorthIt(endpoint: Endpoint, { tokens, lateness, engine, engines }: Candidate): boolean {
    const inTime = this.#inTime.at(endpoint);
    if (inTime === 0) return true;
    const fullStepMs = engine.prefillTokensMax * engine.perPrefillTokenMs * engines;
    if (lateness.inTimeMs > fullStepMs || lateness.lateMs <= fullStepMs) return false;
    const { requests, contextTokens } = loadPerEngine(this.#ledger.load(endpoint), endpoint);
    const savedMs = decodeStepMs(requests, contextTokens, engine) - this.#foundMs(endpoint);
    return lateness.late * savedMs > inTime * engine.perPrefillTokenMs * tokens;
  }

  /**
   * How much time the cached tokens of a request save there, in the mean of the last half minute.
   */
  #foundMs({ slot }: Endpoint): Millis {
    const { requests, workMs } = this.#found.of(slot);
    return requests > 0 ? workMs / requests : 0;
  }
}
