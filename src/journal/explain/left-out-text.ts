import type { OtherEndpoints } from '../../picker/events/journal.ts';

const STATES: Readonly<Record<keyof OtherEndpoints, string>> = {
  ejected: 'ejected',
  late: 'late with metrics',
  full: 'full',
};
const REASONS = Object.keys(STATES) as (keyof OtherEndpoints)[];

/** Such as `1 ejected, 2 full`. */
export function leftOutText(leftOut: OtherEndpoints): string {
  return reasonsOf(leftOut)
    .map((reason) => `${leftOut[reason].toLocaleString('en')} ${STATES[reason]}`)
    .join(', ');
}

/** Why the pick had no other endpoint beside it, such as `the others are ejected or full`. */
export function othersText(leftOut: OtherEndpoints): string {
  const reasons = reasonsOf(leftOut);
  const count = reasons.reduce((sum, reason) => sum + leftOut[reason], 0);
  const states = reasons.map((reason) => STATES[reason]).join(' or ');
  return `the ${count === 1 ? 'other is' : 'others are'} ${states}`;
}

function reasonsOf(leftOut: OtherEndpoints): readonly (keyof OtherEndpoints)[] {
  return REASONS.filter((reason) => leftOut[reason] > 0);
}
