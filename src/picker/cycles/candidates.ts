import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { ConcurrencyLimit } from '../capacity/concurrency-limit.ts';
import type { Ejector } from '../ejection/ejector.ts';
import type { OtherEndpoints } from '../events/journal.ts';
import { sameEndpoints } from '../pool/subset.ts';

/** Whether a request is placed now, or waits for the endpoint that is chosen. */
export type Purpose = 'placing' | 'waiting';

/** Looks whether the loads of servers are still as they were taken to be. */
export interface LoadLook {
  /** Returns whether a load is another one now. */
  look(at: Millis): boolean;
}

/** So often at most, by the time of the decisions. */
const LOOK_MS: Millis = 100;
const NONE: readonly Endpoint[] = [];

/**
 * Which of the endpoints that a request could go to are candidates: those that do not fail and have
 * room. A request that may wait has full ones, too, where nothing else is left: it waits there.
 */
export class CandidateRules {
  readonly #ejector: Ejector;
  readonly #limit: ConcurrencyLimit;
  readonly #looks: readonly LoadLook[];
  #lookedAt: Millis = Number.NEGATIVE_INFINITY;

  constructor(ejector: Ejector, limit: ConcurrencyLimit, looks: readonly LoadLook[]) {
    this.#ejector = ejector;
    this.#limit = limit;
    this.#looks = looks;
  }

  /**
   * Whether what was decided for a request in this event does not count: the loads have turned out
   * to be others, or the candidates are others by now.
   */
  areOthers(candidates: readonly Endpoint[], all: readonly Endpoint[], at: Millis): boolean {
    const hasChanged = this.#look(at);
    return !sameEndpoints(this.#offer(all, at), candidates) || hasChanged;
  }

  /**
   * For a request that is placed now. Empty where all endpoints are full. Where the trial of an
   * ejected endpoint is due, it is that one alone, and counts as offered. Several calls at one time
   * give the same.
   */
  offerForPlacing(all: readonly Endpoint[], at: Millis): readonly Endpoint[] {
    this.#look(at);
    return this.#offer(all, at);
  }

  /**
   * For a request that may wait. Changes nothing, and has no trials: only a request that is placed
   * makes one, and none waits for an endpoint that is ejected. Empty only where there is no
   * endpoint.
   */
  toWaitFor(all: readonly Endpoint[]): readonly Endpoint[] {
    const healthy = this.#ejector.remaining(all);
    const open = this.#withRoom(healthy, all);
    return open.length === 0 ? healthy : open;
  }

  /**
   * Where the one candidate is an ejected endpoint on trial: those that another request could go to
   * now. Else none.
   */
  besidesTrial(candidates: readonly Endpoint[], all: readonly Endpoint[]): readonly Endpoint[] {
    const [trial] = candidates;
    const isTrial = candidates.length === 1 && trial && this.#ejector.ejected(trial) !== undefined;
    if (isTrial !== true) return NONE;
    return this.#limit.withRoom(this.#ejector.remaining(all)).filter((each) => each !== trial);
  }

  /** Why others of `all` are no candidates; undefined where all are. Both are in the pool's order. */
  leftOut(candidates: readonly Endpoint[], all: readonly Endpoint[]): OtherEndpoints | undefined {
    if (candidates.length >= all.length) return undefined;
    const counts = { ejected: 0, late: 0, full: 0 };
    let at = 0;
    for (const each of all) {
      if (candidates[at]?.slot === each.slot) at += 1;
      else if (this.#ejector.ejected(each) !== undefined) counts.ejected += 1;
      else counts[this.#limit.isFull(each) ? 'full' : 'late'] += 1;
    }
    return counts;
  }

  /** More of `all` where the filters left none of `tried`; undefined where there is no more. */
  wider(
    tried: readonly Endpoint[],
    all: readonly Endpoint[],
    purpose: Purpose,
  ): readonly Endpoint[] | undefined {
    const wider = this.#ejector.widen(tried, all);
    if (wider === undefined || purpose === 'waiting') return wider;
    const open = this.#limit.withRoom(wider);
    return open.length === 0 || sameEndpoints(open, tried) ? undefined : open;
  }

  #offer(all: readonly Endpoint[], at: Millis): readonly Endpoint[] {
    const trial = this.#ejector.offerTrial(all, at);
    const healthy = trial === undefined ? this.#ejector.remaining(all) : [trial];
    return this.#withRoom(healthy, all);
  }

  #look(at: Millis): boolean {
    if (at - this.#lookedAt < LOOK_MS) return false;
    this.#lookedAt = at;
    let hasChanged = false;
    for (const each of this.#looks) if (each.look(at)) hasChanged = true;
    return hasChanged;
  }

  /** A trial at an ejected endpoint that is full is left for later. */
  #withRoom(healthy: readonly Endpoint[], all: readonly Endpoint[]): readonly Endpoint[] {
    const open = this.#limit.withRoom(healthy);
    return open.length > 0 ? open : this.#limit.withRoom(this.#ejector.remaining(all));
  }
}
