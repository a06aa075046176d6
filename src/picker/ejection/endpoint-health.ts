import type { Endpoint } from '../../framework/endpoint.ts';
import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Ejected, EjectionPlan, EjectionReason } from './ejection-plan.ts';
import { FailureShare } from './failure-share.ts';

/** Ejections within this time of the last one last longer. */
const RELAPSE_MS = 60_000;
/** For so long after it is back, one failure is enough, unless others fail as well. */
const PROBATION_MS = 15_000;
/** Time between offers of a trial that no request takes, because filters leave the endpoint out. */
const OFFER_INTERVAL_MS = 100;
const DOUBLINGS_MAX = 10;

/** What is known of one endpoint from the requests sent to it. */
export class EndpointHealth {
  readonly endpoint: Endpoint;
  readonly share: FailureShare = new FailureShare();
  /** Requests without a first token yet, oldest first, with how long that was expected to take. */
  readonly awaiting: Map<Routed, Millis> = new Map();
  /** The last time that it gave a first token or ended a request well. */
  progressAt: Millis = Number.NEGATIVE_INFINITY;
  consecutiveFailures = 0;
  ejected: Ejected | undefined;
  #trial: Routed | undefined;
  #trialsPassed = 0;
  #offeredAt: Millis = Number.NEGATIVE_INFINITY;
  #backAt: Millis = Number.NEGATIVE_INFINITY;
  #ejections = 0;

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  /** Whether it came back so recently that one failure ejects it again. */
  onProbation(at: Millis): boolean {
    return at - this.#backAt < PROBATION_MS;
  }

  /** The back-off runs from the last request that was sent to it in vain. */
  eject(reason: EjectionReason, at: Millis, { backoffMs, backoffMaxMs }: EjectionPlan): void {
    if (this.ejected === undefined && at - this.#backAt > RELAPSE_MS) this.#ejections = 0;
    const doubled = backoffMs * 2 ** Math.min(DOUBLINGS_MAX, this.#ejections);
    this.#ejections += 1;
    const since = this.ejected?.since ?? at;
    const from = this.#trial?.at ?? at;
    this.ejected = { reason, since, until: from + Math.min(backoffMaxMs, doubled) };
    this.#trial = undefined;
    this.#trialsPassed = 0;
  }

  /** Whether the next request should try whether it works again. */
  offersTrial(at: Millis): boolean {
    const { ejected } = this;
    if (ejected === undefined || this.#trial !== undefined || at < ejected.until) return false;
    if (at - this.#offeredAt < OFFER_INTERVAL_MS && this.#offeredAt > ejected.until) return false;
    this.#offeredAt = at;
    return true;
  }

  /** A request is sent to it while it is ejected. */
  tryWith(routed: Routed, at: Millis): void {
    if (this.ejected !== undefined && at >= this.ejected.until) this.#trial ??= routed;
  }

  /** The request that tries whether it works again. */
  get trial(): Routed | undefined {
    return this.#trial;
  }

  /** The trial has passed; `back` after enough of them. */
  trialPassed(at: Millis, { trials }: EjectionPlan): 'back' | 'ejected' {
    this.#trial = undefined;
    this.#offeredAt = Number.NEGATIVE_INFINITY;
    this.#trialsPassed += 1;
    if (this.#trialsPassed < trials) return 'ejected';
    this.comeBack(at);
    return 'back';
  }

  /** The trial's end says nothing, such as a client that left. */
  trialEnded(routed: Routed): void {
    if (this.#trial !== routed) return;
    this.#trial = undefined;
    this.#offeredAt = Number.NEGATIVE_INFINITY;
  }

  comeBack(at: Millis): void {
    this.ejected = undefined;
    this.#trial = undefined;
    this.#backAt = at;
    this.consecutiveFailures = 0;
    this.share.clear();
  }
}
