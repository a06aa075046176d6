import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';

/** An endpoint that has begun nothing for so long, and twice what was predicted, is asked again. */
const OVERDUE_MS: Millis = 1000;
const OVERDUE_TIMES = 2;
/** A request may take so long to the engine, and into its metrics. */
const ON_ITS_WAY_MS: Millis = 100;

/** What is known of one endpoint. */
interface Sent {
  /** When the prompts that were sent there should be computed. */
  until: Millis;
  /** When they would be computed if several engines shared every prompt among them. */
  sharedUntil: Millis;
  /** When the last one was sent. */
  lastAt: Millis;
}

/** When the prompts that were sent to each endpoint should be computed, as predicted. */
export class SentPrompts {
  /** By slot. */
  readonly #sent: (Sent | undefined)[] = [];

  /** A prompt has been sent there that takes so long where it is alone. */
  add({ slot }: Endpoint, at: Millis, ownMs: Millis, engines: number): void {
    const sent = (this.#sent[slot] ??= { until: at, sharedUntil: at, lastAt: at });
    sent.sharedUntil = Math.max(sent.sharedUntil, at) + ownMs / engines;
    sent.until = Math.max(sent.until, sent.sharedUntil, at + ownMs);
    sent.lastAt = at;
  }

  forget(slot: number): void {
    this.#sent[slot] = undefined;
  }

  /**
   * When they would be computed if several engines shared every prompt among them; undefined where
   * nothing was sent.
   */
  sharedUntil({ slot }: Endpoint): Millis | undefined {
    return this.#sent[slot]?.sharedUntil;
  }

  /**
   * Whether the engine reports that it does nothing, after what was sent last has reached it: where
   * the ends of answers are not seen, what is in flight is only predicted.
   */
  isIdle({ slot, metrics }: Endpoint): boolean {
    const { runningRequests, waitingQueueSize, sampledAt } = metrics;
    if (runningRequests > 0 || waitingQueueSize > 0) return false;
    return sampledAt > (this.#sent[slot]?.lastAt ?? Number.POSITIVE_INFINITY) + ON_ITS_WAY_MS;
  }

  /** Whether all that was sent there should have been done long ago. */
  isOverdue({ slot }: Endpoint, at: Millis): boolean {
    const sent = this.#sent[slot];
    if (sent === undefined) return true;
    const dueMs = Math.max(0, sent.until - sent.lastAt);
    return at - sent.lastAt > OVERDUE_TIMES * dueMs + OVERDUE_MS;
  }
}
