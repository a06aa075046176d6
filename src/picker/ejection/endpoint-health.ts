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
/**
 * What each sample leaves of a longer usual time between samples: it is forgotten within about 2 s.
 */
const GAP_KEPT = 0.97;
/** Weight of the newest gap in the usual one. */
const GAP_WEIGHT = 0.2;
/**
 * The probability with which an endpoint that still fails as often as before may pass its trials.
 */
const CHANCE_OF_PASSING = 0.01;
const TRIALS_MAX = 16;
const SAMPLES_KEPT = 3;

/** What is known of one endpoint from the requests sent to it. */
export class EndpointHealth {
  readonly endpoint: Endpoint;
  readonly share: FailureShare = new FailureShare();
  /** Requests without a first token yet, oldest first, with how long that was expected to take. */
  readonly awaiting: Map<Routed, Millis> = new Map();
  /** Requests whose answers come in one piece, oldest first: they show no first token. */
  readonly whole: Set<Routed> = new Set();
  /** The last time that it gave a first token or ended a request well. */
  progressAt: Millis = Number.NEGATIVE_INFINITY;
  /** When the newest request was sent of those whose first token or good end it has given. */
  answeredSentAt: Millis = Number.NEGATIVE_INFINITY;
  /** When it gave its last first token, and how much later than expected that was. */
  firstTokenAt: Millis = Number.NEGATIVE_INFINITY;
  lateMs: Millis = 0;
  consecutiveFailures = 0;
  /** When it failed last, or was found to give no first token. */
  failedAt: Millis = Number.NEGATIVE_INFINITY;
  /** Whether the last failure was an answer that had begun well. */
  brokeOff = false;
  /** The usual time between two first tokens or ends; infinite before the second. */
  progressGapMs: Millis = Number.POSITIVE_INFINITY;
  /** The usual time between two samples, rather too long than too short. */
  scrapeGapMs: Millis = 0;
  ejected: Ejected | undefined;
  readonly #trials: Set<Routed> = new Set();
  /** Trials that have passed since it is ejected; their answers may still break off. */
  readonly #passed: Set<Routed> = new Set();
  #trialsPassed = 0;
  /** The share of its requests that failed when it was ejected. */
  #failedShare = 0;
  #offeredAt: Millis = Number.NEGATIVE_INFINITY;
  #backAt: Millis = Number.NEGATIVE_INFINITY;
  #ejections = 0;
  /** The times of its last samples, the newest first. */
  readonly #sampledAt: Millis[] = Array.from(
    { length: SAMPLES_KEPT },
    () => Number.NEGATIVE_INFINITY,
  );

  constructor(endpoint: Endpoint) {
    this.endpoint = endpoint;
  }

  /** When the oldest request that awaits its first token was sent; infinite where none does. */
  get awaitingSince(): Millis {
    const [oldest] = this.awaiting.keys();
    return oldest?.at ?? Number.POSITIVE_INFINITY;
  }

  /**
   * The oldest request without a first token of those that were sent after all requests that the
   * endpoint has answered, with the time that its first token was expected to take. One that a
   * later request has overtaken may be lost: it does not show that the endpoint gives no first
   * tokens now.
   */
  get oldestOwed(): readonly [Routed, Millis] | undefined {
    for (const owed of this.awaiting) if (owed[0].at >= this.answeredSentAt) return owed;
    return undefined;
  }

  /** When the oldest request was sent that owes a first token or an answer. */
  get owingSince(): Millis {
    const [oldest] = this.whole;
    return Math.min(this.awaitingSince, oldest?.at ?? Number.POSITIVE_INFINITY);
  }

  /** It has given the first token of a request, or ended it well. */
  progressed(routed: Routed, at: Millis): void {
    this.answeredSentAt = Math.max(this.answeredSentAt, routed.at);
    const gapMs = at - this.progressAt;
    this.progressAt = at;
    if (!Number.isFinite(gapMs)) return;
    const known = Number.isFinite(this.progressGapMs);
    this.progressGapMs = known
      ? this.progressGapMs + GAP_WEIGHT * (gapMs - this.progressGapMs)
      : gapMs;
  }

  gaveFirstToken(lateMs: Millis, at: Millis): void {
    this.firstTokenAt = at;
    this.lateMs = lateMs;
  }

  /** The time of its last sample but two: since then it has answered three scrapes. */
  get thirdSampledAt(): Millis {
    return this.#sampledAt[SAMPLES_KEPT - 1] ?? Number.NEGATIVE_INFINITY;
  }

  /** The time of its present sample. */
  sampled(sampledAt: Millis): void {
    const gapMs = sampledAt - (this.#sampledAt[0] ?? Number.NEGATIVE_INFINITY);
    if (gapMs <= 0) return;
    this.#sampledAt.unshift(sampledAt);
    this.#sampledAt.length = SAMPLES_KEPT;
    // How long it was silent says nothing about its rhythm.
    if (this.ejected !== undefined) return;
    if (Number.isFinite(gapMs)) this.scrapeGapMs = Math.max(gapMs, GAP_KEPT * this.scrapeGapMs);
  }

  /**
   * The endpoint answers again. It is a candidate without trials, because no request has failed
   * there.
   */
  wake(at: Millis): void {
    this.ejected = undefined;
    // First tokens that were late while it was silent do not count against it now.
    this.progressAt = at;
    this.#endTrials();
    this.#ejections -= 1;
  }

  /** Whether it came back so recently that one failure ejects it again. */
  onProbation(at: Millis): boolean {
    return at - this.#backAt < PROBATION_MS;
  }

  /** The back-off runs from the last request that was sent to it without success. */
  eject(reason: EjectionReason, at: Millis, plan: EjectionPlan): void {
    if (this.ejected === undefined && at - this.#backAt > RELAPSE_MS) this.#ejections = 0;
    const since = this.ejected?.since ?? at;
    const from = lastOf(this.#trials)?.at ?? at;
    const all = this.share.all(at);
    if (this.ejected === undefined) this.#failedShare = all > 0 ? this.share.failed(at) / all : 0;
    this.ejected = { reason, since, until: from + this.#nextBackoffMs(plan) };
    this.failedAt = at;
    this.#endTrials();
    this.#trialsPassed = 0;
  }

  #nextBackoffMs({ backoffMs, backoffMaxMs }: EjectionPlan): Millis {
    const doubled = backoffMs * 2 ** Math.min(DOUBLINGS_MAX, this.#ejections);
    this.#ejections += 1;
    return Math.min(backoffMaxMs, doubled);
  }

  /**
   * Whether the next request should try whether it works again: one, then more with each success.
   */
  isTrialDue(at: Millis): boolean {
    const { ejected } = this;
    if (ejected === undefined || at < ejected.until) return false;
    if (this.#trials.size > this.#trialsPassed) return false;
    const isOffered = this.#offeredAt > ejected.until && this.#offeredAt !== at;
    return !isOffered || at - this.#offeredAt >= OFFER_INTERVAL_MS;
  }

  /** A request that is placed now gets it as its only candidate. Its filters may leave it out. */
  trialOffered(at: Millis): void {
    this.#offeredAt = at;
  }

  /** A request is sent to it while it is ejected. */
  tryWith(routed: Routed, at: Millis): void {
    if (this.ejected === undefined || at < this.ejected.until) return;
    if (this.#trials.size > this.#trialsPassed) return;
    this.#trials.add(routed);
    this.#offeredAt = Number.NEGATIVE_INFINITY;
  }

  /** Whether the request tries, or has tried with success, whether it works again. */
  isTrial(routed: Routed): boolean {
    return this.#trials.has(routed) || this.#passed.has(routed);
  }

  /** The requests that try whether it works again. */
  get trials(): ReadonlySet<Routed> {
    return this.#trials;
  }

  #endTrials(): void {
    this.#trials.clear();
    this.#passed.clear();
  }

  /**
   * Whether it is a trial that passes only at its end, because the last failure was an answer that
   * broke off.
   */
  owesEnd(routed: Routed): boolean {
    return this.brokeOff && this.#trials.has(routed);
  }

  /**
   * A trial has passed; `back` after enough of them: more where only part of its requests failed.
   */
  trialPassed(routed: Routed, at: Millis, { trials }: EjectionPlan): 'back' | 'ejected' {
    this.#trials.delete(routed);
    this.#passed.add(routed);
    this.#trialsPassed += 1;
    const revealing = Math.log(CHANCE_OF_PASSING) / Math.log(1 - this.#failedShare);
    if (this.#trialsPassed < Math.max(trials, Math.min(TRIALS_MAX, revealing))) return 'ejected';
    this.comeBack(at);
    return 'back';
  }

  /**
   * The trial's client left, which does not say whether the endpoint works. The next trial waits as
   * after a failure: else impatient clients would be sent one after the other to one that hangs.
   */
  trialAborted(routed: Routed, plan: EjectionPlan): void {
    if (this.ejected === undefined || !this.#trials.delete(routed)) return;
    this.#offeredAt = Number.NEGATIVE_INFINITY;
    const until = Math.max(this.ejected.until, routed.at + this.#nextBackoffMs(plan));
    this.ejected = { ...this.ejected, until };
  }

  comeBack(at: Millis): void {
    this.ejected = undefined;
    this.#endTrials();
    this.#backAt = at;
    this.consecutiveFailures = 0;
    this.share.clear();
  }
}

/** The newest of a set. */
function lastOf<T>(all: ReadonlySet<T>): T | undefined {
  let last: T | undefined;
  for (const each of all) last = each;
  return last;
}
