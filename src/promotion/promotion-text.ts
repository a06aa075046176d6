import { grouped, tenths } from '../framework/values/grouped.ts';
import type { ArmReport } from './arm-tally.ts';
import type { PromotionStatus } from './promotion.ts';
import { type ArmReports, reasonsText } from './promotion-rule.ts';
import type { FailureCount } from './recent-failures.ts';

/** The state and events of promotion as text. `dated` formats a time since the Unix epoch. */
export function promotionText(status: PromotionStatus, dated: (wallMs: number) => string): string {
  const { shadow, percent, conditions, outcomes, events } = status;
  const now =
    shadow === undefined
      ? 'the configuration in charge decides all requests'
      : `${shadow} decides ${percent} % of the requests`;
  const waiting = conditions.map(
    ({ met, text }) => `  ${met ? 'met' : 'not yet'}`.padEnd(13) + text,
  );
  const arms =
    shadow === undefined
      ? []
      : [armText('shadow', outcomes.challenger), inCharge(percent, outcomes)];
  const log = events.map(
    ({ wallMs, what, shadow: whose, percent: share, by, why }) =>
      `${dated(wallMs)}  ${what.padEnd(8)}  ${whose}  ${share} %  by ${by}: ${why}`,
  );
  const keep = isAtItsEnd(status) ? [`  to keep it, ${TO_KEEP}`] : [];
  return `${[`${now}; ${ruleText(status)}`, ...waiting, ...arms, ...keep, ...log].join('\n')}\n`;
}

const TO_KEEP =
  'write its configuration into the file of --config: a promotion ends with the picker';

/** Nothing more is to come: the rule has taken its last step, or all requests are decided. */
function isAtItsEnd({ shadow, percent, automatic, conditions }: PromotionStatus): boolean {
  if (shadow === undefined) return false;
  return percent >= 100 || (automatic && conditions.length === 0);
}

function ruleText(status: PromotionStatus): string {
  const { automatic, hasRule, ruleEnded, shadow, percent, conditions } = status;
  if (!hasRule) return 'no rule was given';
  const why = ruleEnded === undefined ? '' : ` (${ruleEnded})`;
  if (!automatic) return `the rule has ended${why}, until the picker starts again`;
  if (shadow === undefined || conditions.length > 0) return 'the rule is active';
  const fault = percent < 100 ? 'its results get worse' : 'its requests fail more often';
  return `the rule has taken its last step, and demotes it when ${fault}`;
}

/** Where nothing is left beside the shadow, it is compared with what failed before it. */
function inCharge(percent: number, { incumbent, recent }: ArmReports): string {
  if (percent < 100 || incumbent.requests > 0) return armText('in charge', incumbent);
  const counts = ({ requests, failed }: FailureCount) =>
    `${grouped(failed)} of ${grouped(requests)} failed`;
  return `  latest     ${counts(recent.challenger)}; in charge before it ${counts(recent.incumbent)}`;
}

const SHOWN_MS = 0.05;

function armText(name: string, arm: ArmReport): string {
  const { requests, failed, aborted, undecided, latency } = arm;
  const { count, meanMs, waitedMs } = latency;
  const waited = waitedMs < SHOWN_MS ? '' : `, ${tenths(waitedMs)} ms of it waiting here`;
  const mean =
    count === 0 ? 'none answered yet' : `${tenths(meanMs)} ms to the first token${waited}`;
  const left = aborted === 0 ? '' : `, ${grouped(aborted)} aborted before it`;
  const reasons = reasonsText(undecided);
  const profiles = reasons === '' ? '' : `, left to its profiles: ${reasons}`;
  const asked = `${grouped(requests)} request${requests === 1 ? '' : 's'}`;
  return `  ${name.padEnd(9)}  ${asked}, ${grouped(failed)} failed, ${mean}${left}${profiles}`;
}
