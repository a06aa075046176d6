/**
 * Why endpoints were no candidates of a decision, in words. `explain` and `top` have the same in
 * src/journal/explain/left-out-text.ts.
 *
 * @import { LiveDecision } from '../src/serve/live/live-message.ts'
 * @typedef {NonNullable<LiveDecision['leftOut']>} LeftOut
 */
import { count } from './format.js';

/** @type {Readonly<Record<keyof LeftOut, string>>} */
const STATES = { ejected: 'ejected', late: 'late with metrics', full: 'full' };
const REASONS = /** @type {(keyof LeftOut)[]} */ (Object.keys(STATES));

/** Such as `1 ejected, 2 full`. @param {LeftOut} leftOut */
export function leftOutText(leftOut) {
  return reasonsOf(leftOut)
    .map((reason) => `${count(leftOut[reason])} ${STATES[reason]}`)
    .join(', ');
}

/** Why the pick had no other endpoint beside it. @param {LeftOut} leftOut */
export function othersText(leftOut) {
  const reasons = reasonsOf(leftOut);
  const others = reasons.reduce((sum, reason) => sum + leftOut[reason], 0);
  const states = reasons.map((reason) => STATES[reason]).join(' or ');
  return `the ${others === 1 ? 'other is' : 'others are'} ${states}`;
}

/** @param {LeftOut} leftOut */
function reasonsOf(leftOut) {
  return REASONS.filter((reason) => leftOut[reason] > 0);
}
