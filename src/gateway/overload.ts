import type { Millis } from '../framework/runtime.ts';

/** What says whether this process has more to do than it can. */
export interface Strain {
  /** The share of the last seconds in which the event loop did not rest. */
  readonly busyShare: () => number;
  /** How long a new client waits for an answer of the gateway. */
  readonly answerDelayMs: () => Millis;
}

/** With less rest, the event loop has had none for about 2 s. */
const BUSY_SHARE_MAX = 0.99;
/** Less than the 5 s after which impatient clients give up: decision 924 has what was simulated. */
const ANSWER_DELAY_MS_MAX: Millis = 3000;

/**
 * Why a further request is refused; undefined while it is not. To be busy is not enough: a few
 * clients that send one request after another can keep a gateway busy. A late answer is not enough
 * either: it may follow a moment without a processor. Where both are so, what waits would wait ever
 * longer.
 */
export function whyOverloaded({ busyShare, answerDelayMs }: Strain): string | undefined {
  if (busyShare() <= BUSY_SHARE_MAX) return undefined;
  const delayMs = answerDelayMs();
  if (delayMs <= ANSWER_DELAY_MS_MAX) return undefined;
  return `the gateway has more to do than its CPU allows: it has not been idle for 2 s, and a client waits ${Math.round(delayMs)} ms for an answer; above ${ANSWER_DELAY_MS_MAX} ms requests are refused: send less, or use Envoy in its place`;
}
