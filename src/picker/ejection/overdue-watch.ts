import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EjectionPlan, EjectionReason } from './ejection-plan.ts';
import type { EndpointHealth } from './endpoint-health.ts';
import { STALL_CHECK_MS, type Stalls, stalledAmong } from './first-token-stall.ts';
import { OwnDelay } from './own-delay.ts';
import { answersScrapesAgain, SILENCE_CHECK_MS, silenceAmong, type Watched } from './silence.ts';

export interface OverdueWatchOptions {
  readonly pool: { get(id: EndpointId): Endpoint | undefined };
  /** The endpoints that requests were sent to. */
  readonly known: () => Iterable<EndpointHealth>;
  readonly eject: (health: EndpointHealth, reason: EjectionReason, at: Millis) => void;
  /** One that was silent answers again. */
  readonly isBack: (health: EndpointHealth) => void;
  /** All whose scrapes are late, and which nothing else shows to work. */
  readonly suspect: (endpoints: readonly Endpoint[]) => void;
}

/**
 * Looks now and then for endpoints that owe first tokens or answer nothing for too long: they cause
 * no event. It knows how late this process may be itself.
 */
export class OverdueWatch {
  readonly #options: OverdueWatchOptions;
  readonly #ownDelay = new OwnDelay();
  #firstTokens = 0;
  #stallsSeenAt: Millis = Number.NEGATIVE_INFINITY;
  #silenceSeenAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(options: OverdueWatchOptions) {
    this.#options = options;
  }

  /** This picker is about to place a request, has placed one, or has got an answer. */
  event(at: Millis): void {
    this.#ownDelay.event(at);
  }

  /** A request that was sent then has its first token, or has ended. */
  answered(sentAt: Millis): void {
    this.#ownDelay.answered(sentAt);
  }

  /** A request has its first token. */
  firstToken(): void {
    this.#firstTokens += 1;
  }

  /** Ejects what has to be ejected by now, if it has not looked a moment ago. */
  look(plan: EjectionPlan, at: Millis): void {
    if (at - this.#stallsSeenAt >= STALL_CHECK_MS) this.lookForStalls(plan, at);
    if (at - this.#silenceSeenAt >= SILENCE_CHECK_MS) this.#lookForSilence(plan, at);
  }

  /**
   * Looks for endpoints that owe first tokens for too long while others give theirs. After a
   * standstill it judges by what was owed before it, but for `left`, whose client has just given
   * up: a gateway sends what it got of an answer before the end of its request.
   */
  lookForStalls(plan: EjectionPlan, at: Millis, left?: EndpointHealth): void {
    this.#stallsSeenAt = at;
    const { pool, known, eject } = this.#options;
    const { answeredSentAt } = this.#ownDelay;
    const judgedBy = this.#ownDelay.judgedBy(at);
    const input = { pool, firstTokens: this.#firstTokens, plan };
    const stalls = (by: Millis, answered: Millis): Stalls =>
      stalledAmong(known(), by, { ...input, answeredSentAt: answered });
    const { failedTrials, stalled } = stalls(judgedBy, answeredSentAt);
    for (const health of failedTrials) eject(health, 'trial-failed', at);
    for (const health of stalled) eject(health, 'first-token-stall', at);
    if (left === undefined || left.ejected !== undefined) return;
    if (stalls(at, at).stalled.includes(left)) eject(left, 'first-token-stall', at);
  }

  /** Looks for endpoints that answer nothing any more, and for those that do again. */
  #lookForSilence({ silenceMs }: EjectionPlan, at: Millis): void {
    this.#silenceSeenAt = at;
    if (silenceMs === 0) return;
    const { pool, known, eject, isBack, suspect } = this.#options;
    const watched: Watched[] = [];
    for (const health of known()) {
      const endpoint = pool.get(health.endpoint.id);
      if (endpoint === undefined) continue;
      health.sampled(endpoint.metrics.sampledAt);
      if (answersScrapesAgain(health, endpoint)) {
        health.wake(at);
        isBack(health);
      }
      if (health.ejected === undefined) watched.push({ health, endpoint });
    }
    const { suspects, silent } = silenceAmong(watched, at, silenceMs);
    suspect(suspects);
    if (this.#ownDelay.judgedBy(at) < at) return;
    for (const health of silent) eject(health, 'silent', at);
  }
}
