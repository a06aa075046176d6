import type { Millis } from '../framework/runtime.ts';

/** Orders among requests of one priority. */
export const WAITING_ORDERS = ['response-ratio', 'fcfs'] as const;
export type WaitingOrder = (typeof WAITING_ORDERS)[number];

/** What the order of a request depends on. */
export interface Urgency {
  readonly waitedMs: Millis;
  /** The time that its prompt takes where it would go. */
  readonly ownMs: Millis;
  /**
   * The first token should come within this time of its arrival; undefined where it may come late.
   */
  readonly ttftSloMs: Millis | undefined;
}

/** Says which request goes first. */
export interface Order {
  /** The greater, the sooner. Among equals the one that came first goes first. */
  urgencyOf(urgency: Urgency): number;
  /** Requests of one class, without deadlines, go in the order in which they came. */
  classOf(ownMs: Millis): number;
  /** Whether a deadline changes the order. */
  readonly hasDeadlines: boolean;
  /** Whether flows that have got less go before others. */
  readonly isFair: boolean;
  /**
   * How long a request may wait before it is late: about 10 s for a prompt of 100 ms. Where one is
   * late, the newest goes first, because otherwise all that come now would be answered as late as
   * it is. Infinity for never.
   */
  lateAfterMs(ownMs: Millis): Millis;
}

/** A request that has just come is not ahead of another only because it came a moment before. */
const SAME_MOMENT_MS = 50;
/** Prompts that take less than this are equally short. */
const SHORT_MS = 20;
/** Classes of own times within which the time doubles: those of one class differ by 9 % at most. */
const CLASSES_PER_DOUBLING = 8;
/** From this response ratio on a request is late: see decision 230. */
const LATE_RATIO = 100;
/** The urgency of a request whose deadline is near: above any response ratio. */
const DUE = 1e9;

const firstCome: Order = {
  urgencyOf: ({ waitedMs }) => waitedMs,
  classOf: () => 0,
  hasDeadlines: false,
  isFair: false,
  lateAfterMs: () => Number.POSITIVE_INFINITY,
};

/**
 * Highest response ratio: the waiting time in relation to the request's own time, which is rounded
 * up to that of its class. Short requests pass long ones at first, and every request's turn comes,
 * the sooner the shorter it is; no constant says how fast that is. A request whose deadline can
 * only just be met goes before all others; one whose deadline has passed, or that has none, is as
 * any other.
 */
const responseRatio: Order = {
  urgencyOf: ({ waitedMs, ownMs, ttftSloMs }) => {
    if (ttftSloMs !== undefined) {
      const slackMs = ttftSloMs - waitedMs - ownMs;
      if (slackMs >= 0 && slackMs <= dueWithinMs(ownMs)) return DUE - slackMs;
    }
    return ratioOf(waitedMs, ownMs);
  },
  classOf,
  hasDeadlines: true,
  isFair: true,
  lateAfterMs: (ownMs) => LATE_RATIO * classMs(classOf(ownMs)) - SAME_MOMENT_MS,
};

export const ORDERS: Readonly<Record<WaitingOrder, Order>> = {
  'response-ratio': responseRatio,
  fcfs: firstCome,
};

/** A deadline can only just be met where its slack is not above this. */
export function dueWithinMs(ownMs: Millis): Millis {
  return ownMs + SHORT_MS;
}

function ratioOf(waitedMs: Millis, ownMs: Millis): number {
  return (waitedMs + SAME_MOMENT_MS) / classMs(classOf(ownMs));
}

function classOf(ownMs: Millis): number {
  return Math.ceil(CLASSES_PER_DOUBLING * Math.log2((ownMs + SHORT_MS) / SHORT_MS));
}

function classMs(ofClass: number): Millis {
  return SHORT_MS * 2 ** (ofClass / CLASSES_PER_DOUBLING);
}
