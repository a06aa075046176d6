import type { ArmReport } from './arm-tally.ts';
import type { PromotionStatus } from './promotion.ts';

/** The state and events of promotion as text. `dated` formats a time since the Unix epoch. */
export function promotionText(
  { shadow, percent, automatic, conditions, outcomes, events }: PromotionStatus,
  dated: (wallMs: number) => string,
): string {
  const now =
    shadow === undefined
      ? 'the configuration in charge decides all requests'
      : `${shadow} decides ${percent} % of the requests`;
  const rule = automatic ? 'the rule is active' : 'no rule is active';
  const waiting = conditions.map(
    ({ met, text }) => `  ${met ? 'is met' : 'waits for'}`.padEnd(13) + text,
  );
  const arms =
    shadow === undefined
      ? []
      : [arm('shadow', outcomes.challenger), arm('in charge', outcomes.incumbent)];
  const log = events.map(
    ({ wallMs, what, shadow: whose, percent: share, by, why }) =>
      `${dated(wallMs)}  ${what.padEnd(8)}  ${whose}  ${share} %  by ${by}: ${why}`,
  );
  return `${[`${now}; ${rule}`, ...waiting, ...arms, ...log].join('\n')}\n`;
}

function arm(name: string, { requests, failed, latency }: ArmReport): string {
  const mean = latency.count === 0 ? '-' : `${latency.meanMs.toFixed(1)} ms`;
  return `  ${name.padEnd(9)}  ${requests} requests, ${failed} failed, first token after ${mean} on average`;
}
