import { type Endpoint, type EndpointId, isFresh } from '../../framework/endpoint.ts';
import type { EndpointObserver, Outcome, Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Ejected, EjectionPlan, EjectionReason } from './ejection-plan.ts';
import { EndpointHealth } from './endpoint-health.ts';
import { failureReason } from './failure-reason.ts';
import { LeftOutEndpoints } from './left-out-endpoints.ts';
import { OverdueWatch } from './overdue-watch.ts';

/** A change of an endpoint: `ejected` is undefined when it is back. */
export interface EjectionChange {
  readonly endpoint: Endpoint;
  readonly ejected: Ejected | undefined;
}

export interface EjectorOptions {
  readonly pool: {
    get(id: EndpointId): Endpoint | undefined;
    snapshot(): readonly Endpoint[];
  };
  readonly onChange?: ((change: EjectionChange) => void) | undefined;
}

/** An endpoint may serve requests and no metrics. */
const SILENT_TRIAL_MS = 30_000;

/**
 * Takes endpoints that fail out of the candidates, and lets few requests try them again. It learns
 * from the requests alone and reads the time of the decision, so that a capture, which has both,
 * gives the same candidates again. At least one endpoint that could serve a request always stays.
 */
export class Ejector implements EndpointObserver {
  readonly #options: EjectorOptions;
  #plan: EjectionPlan | undefined;
  readonly #known = new Map<EndpointId, EndpointHealth>();
  readonly #leftOut = new LeftOutEndpoints();
  readonly #counts = new Map<EjectionReason, number>();
  #fallbacks = 0;
  readonly #watch: OverdueWatch;

  constructor(options: EjectorOptions) {
    this.#options = options;
    this.#watch = new OverdueWatch({
      pool: options.pool,
      known: () => this.#known.values(),
      eject: (health, reason, at) => this.#eject(health, reason, at),
      isBack: (health) => this.#isBack(health),
      suspect: (endpoints) => this.#leftOut.suspect(endpoints),
    });
  }

  /** Undefined, or one that is not enabled, lets all endpoints be candidates. */
  configure(plan: EjectionPlan | undefined): void {
    this.#plan = plan?.enabled === true ? plan : undefined;
    this.#leftOut.suspect([]);
    if (this.#plan !== undefined) return;
    this.#leftOut.clear();
    this.#known.clear();
  }

  /** How often endpoints were ejected, by reason. */
  get counts(): ReadonlyMap<EjectionReason, number> {
    return this.#counts;
  }

  /** Requests whose pick was not reached, so that a proxy used another endpoint. */
  get fallbacks(): number {
    return this.#fallbacks;
  }

  ejected({ slot }: Endpoint): Ejected | undefined {
    return this.#leftOut.healthAt(slot)?.ejected;
  }

  /**
   * For a request that is placed now: the ejected endpoint whose trial is due, which counts as
   * offered. Undefined for none: then `remaining` are the candidates. Looks first for what has to
   * be ejected by now. Several calls at one time give the same.
   */
  offerTrial(candidates: readonly Endpoint[], at: Millis): Endpoint | undefined {
    const plan = this.#plan;
    if (plan === undefined) return undefined;
    this.#watch.event(at);
    this.#watch.look(plan, at);
    if (this.#leftOut.ejected === 0) return undefined;
    const trial = candidates.find((each) => this.#isTrialDue(each, at));
    if (trial !== undefined) this.#leftOut.healthAt(trial.slot)?.trialOffered(at);
    return trial;
  }

  /** The candidates without those that are left out; more where nothing else is left. */
  remaining(candidates: readonly Endpoint[]): readonly Endpoint[] {
    return this.#leftOut.remaining(candidates);
  }

  /** More of `all` where the filters left none of `tried`; undefined where there is no more. */
  widen(tried: readonly Endpoint[], all: readonly Endpoint[]): readonly Endpoint[] | undefined {
    return this.#leftOut.widen(tried, all);
  }

  /** `ttftMs`: how long the first token is expected to take. */
  routed(routed: Routed, ttftMs: Millis): void {
    if (this.#plan === undefined) return;
    this.#watch.event(routed.at);
    const health = this.#healthOf(routed.endpoint);
    health?.tryWith(routed, routed.at);
    if (routed.prefill !== undefined) return;
    if (routed.firstTokenVisible) health?.awaiting.set(routed, ttftMs);
    else health?.whole.add(routed);
  }

  /** The endpoint that serves the request, which may be a fallback, has begun to answer. */
  firstToken(routed: Routed, servedBy: Endpoint, at: Millis): void {
    if (this.#plan === undefined) return;
    this.#watch.event(at);
    this.#watch.answered(routed.at);
    this.#watch.firstToken();
    const awaiting = this.#known.get(routed.endpoint.id)?.awaiting;
    const expectedMs = awaiting?.get(routed);
    awaiting?.delete(routed);
    const health = this.#healthOf(servedBy);
    if (expectedMs !== undefined) health?.gaveFirstToken(at - routed.at - expectedMs, at);
    if (health?.owesEnd(routed) === true) health.progressed(routed, at);
    else if (health !== undefined) this.#succeed(health, routed, at);
  }

  /** The proxy did not reach the endpoint that was picked, and used another. */
  notReached(routed: Routed, at: Millis): void {
    this.#fallbacks += 1;
    const plan = this.#plan;
    if (plan === undefined) return;
    const health = this.#healthOf(routed.endpoint);
    if (health === undefined) return;
    health.awaiting.delete(routed);
    health.whole.delete(routed);
    this.#fail(health, routed, { at, plan, reason: 'not-reached' });
  }

  done(
    routed: Routed,
    servedBy: Endpoint,
    { at, outcome }: { readonly at: Millis; readonly outcome: Outcome },
  ): void {
    const plan = this.#plan;
    if (plan === undefined) return;
    this.#watch.event(at);
    if (outcome !== 'aborted') this.#watch.answered(routed.at);
    const picked = this.#known.get(routed.endpoint.id);
    // A client that gives up on a silent endpoint takes the evidence away.
    const waitedMs = at - routed.at;
    if (outcome === 'aborted' && waitedMs >= plan.firstTokenStallMs) {
      this.#watch.lookForStalls(plan, at, picked);
    }
    const waited = picked?.awaiting.delete(routed) === true;
    picked?.whole.delete(routed);
    const health = this.#healthOf(servedBy);
    if (health === undefined) return;
    if (outcome === 'failed') {
      health.brokeOff = routed.firstTokenVisible && !waited;
      this.#fail(health, routed, { at, plan });
    } else if (outcome === 'aborted') health.trialAborted(routed, plan);
    // With a first token, the request has counted already.
    else if (waited || !routed.firstTokenVisible || health.owesEnd(routed)) {
      this.#succeed(health, routed, at);
    } else health.progressed(routed, at);
  }

  onEndpointRemoved({ id, slot }: Endpoint): void {
    this.#known.delete(id);
    this.#leftOut.delete(slot);
  }

  /** An endpoint that no longer answers scrapes is tried seldom: it hangs, or has gone. */
  #isTrialDue(endpoint: Endpoint, at: Millis): boolean {
    const health = this.#leftOut.healthAt(endpoint.slot);
    if (health === undefined) return false;
    const { until = at, reason } = health.ejected ?? {};
    const isScraped = Number.isFinite(endpoint.metrics.sampledAt);
    const answers = !isScraped || (reason !== 'silent' && isFresh(endpoint, at));
    const mayWork = answers || at - until >= SILENT_TRIAL_MS;
    return mayWork && health.isTrialDue(at);
  }

  /** Undefined for an endpoint that is no longer in the pool. */
  #healthOf(endpoint: Endpoint): EndpointHealth | undefined {
    const { id, slot } = endpoint;
    const known = this.#known.get(id);
    if (known !== undefined) return known.endpoint.slot === slot ? known : undefined;
    if (this.#options.pool.get(id)?.slot !== slot) return undefined;
    const health = new EndpointHealth(endpoint);
    this.#known.set(id, health);
    return health;
  }

  #succeed(health: EndpointHealth, routed: Routed, at: Millis): void {
    health.progressed(routed, at);
    health.share.add('good', at);
    health.consecutiveFailures = 0;
    this.#leftOut.works(health);
    if (health.ejected === undefined || this.#plan === undefined) return;
    // What was slow, and answers after all, works.
    if (health.ejected.reason === 'silent') health.wake(at);
    else if (health.ejected.reason === 'first-token-stall') health.comeBack(at);
    else if (!health.trials.has(routed)) return;
    else if (health.trialPassed(routed, at, this.#plan) === 'ejected') return;
    this.#isBack(health);
  }

  #isBack({ endpoint }: EndpointHealth): void {
    this.#leftOut.delete(endpoint.slot);
    this.#options.onChange?.({ endpoint, ejected: undefined });
  }

  #fail(
    health: EndpointHealth,
    routed: Routed,
    {
      at,
      plan,
      reason,
    }: { readonly at: Millis; readonly plan: EjectionPlan; readonly reason?: EjectionReason },
  ): void {
    health.share.add('failed', at);
    health.consecutiveFailures += 1;
    health.failedAt = at;
    if (health.ejected !== undefined) {
      if (health.isTrial(routed)) this.#eject(health, 'trial-failed', at);
      return;
    }
    const found = failureReason(health, this.#known.values(), { at, plan });
    if (found !== undefined) this.#eject(health, reason ?? found, at);
  }

  #eject(health: EndpointHealth, reason: EjectionReason, at: Millis): void {
    const { endpoint } = health;
    const { pool, onChange } = this.#options;
    const plan = this.#plan;
    const isNew = health.ejected === undefined;
    // The last endpoint stays: a request that may fail is better than none.
    if (plan === undefined) return;
    if (isNew && this.#leftOut.ejected + 1 >= pool.snapshot().length) {
      this.#leftOut.spare(health);
      return;
    }
    health.eject(reason, at, plan);
    this.#leftOut.eject(health);
    this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
    if (isNew) onChange?.({ endpoint, ejected: health.ejected });
  }
}
