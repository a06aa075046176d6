/**
 * How much more the pool can serve, for each stage.
 *
 * @import { StageHeadroom } from '../src/journal/headroom/headroom-report.ts'
 */
import { h } from 'preact';
import { count, duration, percent, rate } from './format.js';
import { TableCard } from './table-card.js';

/**
 * What would end goodput first.
 * @type {Readonly<Record<NonNullable<StageHeadroom['limit']>, string>>}
 */
const LIMITS = {
  'first-token': 'time to first token',
  'next-token': 'time per token',
  memory: 'KV memory',
  concurrency: 'requests at once',
  shown: 'what they served while full',
  'flow-control': 'flow control, which holds requests back',
  failing: 'requests fail at all servers',
};

/** @param {{ stages: readonly StageHeadroom[] }} props */
export function Headroom({ stages }) {
  const rows = stages.map((stage) => {
    const { used, capacity } = stage.requestsPerSecond ?? {};
    const seconds = stage.secondsToSaturation;
    return [
      stage.stage,
      `${perSecond(used)} of ${perSecond(capacity)}`,
      percent(stage.utilization),
      stage.limit === undefined ? '–' : LIMITS[stage.limit],
      seconds === 0 ? 'now' : duration(seconds === undefined ? undefined : 1000 * seconds),
      `${count(stage.desiredReplicas)} (now ${count(stage.replicas)})`,
    ];
  });
  const heads = ['Stage', 'Requests', 'Used', 'Limited by', 'Full in', 'Servers wanted'];
  return h(TableCard, { title: 'Headroom', heads, rows });
}

/** A rate that is not known, or without a bound, is a dash. @param {number | null | undefined} value */
function perSecond(value) {
  return value === null || value === undefined ? '–' : `${rate(value)}/s`;
}
