import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { RunningRequests } from './running-requests.ts';

/** The room that a band needs which waits because the pool is too full for it. */
interface ReclaimedRoom {
  readonly priority: number;
  readonly saturation: number;
  /** From this saturation on the band is closed. */
  readonly ceiling: number;
}

/** How evictions went, for metrics. */
export interface ReclamationCounts {
  issued: number;
  confirmed: number;
  timedOut: number;
}

/** A wrong estimate of what one request frees costs at most so many requests. */
const EVICTED_MAX = 2;
/** An evicted request whose end was not seen for so long counts as ended. */
const CONFIRMATION_MS: Millis = 10_000;

interface Revoked {
  readonly credit: number;
  readonly at: Millis;
}

/**
 * Decides how many requests in flight make room, one step after the other: no second step before
 * the requests that the first has evicted have ended and the measured saturation can show it.
 */
export class Reclamation {
  readonly counts: ReclamationCounts;
  /** How far the last demand was above its ceiling. */
  target = 0;
  readonly #running: RunningRequests;
  /** The time from the end of an evicted request until the saturation shows it. */
  readonly #graceMs: Millis;
  /** Evicted requests whose end was not seen yet, by id. */
  readonly #revoked: Map<string, Revoked>;
  #cooling: readonly { readonly credit: number; readonly until: Millis }[];

  /** `former` has evicted until now, from the same requests. */
  constructor(running: RunningRequests, graceMs: Millis, former?: Reclamation) {
    this.#running = running;
    this.#graceMs = graceMs;
    this.#revoked = new Map(former === undefined ? [] : former.#revoked);
    this.#cooling = former === undefined ? [] : former.#cooling;
    this.counts = { ...(former?.counts ?? { issued: 0, confirmed: 0, timedOut: 0 }) };
  }

  /** Saturation that evicted requests free, and that the measured value does not show yet. */
  pendingAt(at: Millis): number {
    let sum = 0;
    for (const { credit, at: since } of this.#revoked.values()) {
      if (at - since < CONFIRMATION_MS) sum += credit;
    }
    for (const { credit, until } of this.#cooling) if (at < until) sum += credit;
    return sum;
  }

  /** Whether a step may be made now. */
  isOpen(at: Millis): boolean {
    for (const [id, { credit, at: since }] of this.#revoked) {
      if (at - since < CONFIRMATION_MS) continue;
      this.#revoked.delete(id);
      this.#cool(credit, at);
      this.counts.timedOut += 1;
    }
    if (this.#cooling.length > 0) this.#cooling = this.#cooling.filter(({ until }) => at < until);
    return this.#revoked.size === 0 && this.#cooling.length === 0;
  }

  /** The requests to evict: each of a lower priority than the demand. */
  reclaim(
    { priority, saturation, ceiling }: ReclaimedRoom,
    at: Millis,
  ): readonly InferenceRequest[] {
    const running = this.#running;
    const credit = saturation / running.size;
    this.target = saturation - ceiling;
    const wanted = Math.max(1, Math.ceil(this.target / credit));
    const victims: InferenceRequest[] = [];
    while (victims.length < Math.min(wanted, EVICTED_MAX)) {
      const { victim } = running;
      if (victim === undefined || victim.priority >= priority) break;
      running.evict(victim);
      this.#revoked.set(victim.id, { credit, at });
      victims.push(victim);
    }
    this.counts.issued += victims.length;
    return victims;
  }

  /** A request in flight has ended. Returns how long ago it was evicted, if it was. */
  ended({ id }: InferenceRequest, at: Millis): Millis | undefined {
    const revoked = this.#revoked.get(id);
    if (revoked === undefined) return undefined;
    this.#revoked.delete(id);
    this.#cool(revoked.credit, at);
    this.counts.confirmed += 1;
    return at - revoked.at;
  }

  #cool(credit: number, at: Millis): void {
    this.#cooling = [...this.#cooling, { credit, until: at + this.#graceMs }];
  }
}
