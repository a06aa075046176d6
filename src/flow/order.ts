import type { Millis } from '../framework/runtime.ts';

/** Orders among requests of one priority. */
export const WAITING_ORDERS = ['response-ratio', 'fcfs'] as const;
export type WaitingOrder = (typeof WAITING_ORDERS)[number];

/** What the order of a request depends on. */
export interface Urgency {
  readonly waitedMs: Millis;
  /** The time that its prompt takes where it would go. */
  readonly ownMs: Millis;
  /** The first token should come within this time of its arrival; undefined for no matter when. */
  readonly ttftSloMs: Millis | undefined;
}

/** A request that has just come is not ahead of another only because it came a moment before. */
const SAME_MOMENT_MS = 50;
/** Prompts that take less than this are equally short. */
const SHORT_MS = 20;
/** Above any ratio. */
const DUE = 1e9;

/** Who goes first by this order: the greater, the sooner. */
export function urgencyBy(order: WaitingOrder): (urgency: Urgency) => number {
  return order === 'fcfs' ? ({ waitedMs }) => waitedMs : urgencyOf;
}

/**
 * Who goes first by response ratio. It is the highest response ratio: the waiting time in
 * relation to the request's own time. Short requests pass long ones at first, and every request's
 * turn comes, the sooner the shorter it is; no constant says how fast that is. A request whose
 * deadline can only just be met goes before all others; one whose deadline has passed, or that has
 * none, is as any other.
 */
export function urgencyOf({ waitedMs, ownMs, ttftSloMs }: Urgency): number {
  const ratio = (waitedMs + SAME_MOMENT_MS) / (ownMs + SHORT_MS);
  if (ttftSloMs === undefined) return ratio;
  const slackMs = ttftSloMs - waitedMs - ownMs;
  return slackMs >= 0 && slackMs <= ownMs + SHORT_MS ? DUE - slackMs : ratio;
}
