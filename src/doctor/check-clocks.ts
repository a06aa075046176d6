import type { Finding } from './finding.ts';

/** Where a clock is, and how far it is ahead of the clock here; below 0 it is behind. */
export interface ClockAhead {
  readonly where: string;
  readonly aheadMs: number;
}

/** HTTP gives times in whole seconds. */
const DATE_STEP_MS = 1000;
const AHEAD_MS_MAX = 2000;

/**
 * The least by which a clock is ahead that gave this `date` during an exchange: the longer the
 * answer took, the less is known.
 */
export function aheadBy(date: number, fromMs: number, untilMs: number): number {
  if (date > untilMs) return date - untilMs;
  return Math.min(0, date + DATE_STEP_MS - fromMs);
}

/** Clocks that differ make ages, certificates and joined logs wrong. */
export function checkClocks(clocks: readonly ClockAhead[]): readonly Finding[] {
  return clocks
    .filter(({ aheadMs }) => Math.abs(aheadMs) > AHEAD_MS_MAX)
    .map(({ where, aheadMs }) => ({
      severity: 'warning',
      id: 'clock-differs',
      where,
      what: `its clock is ${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the clock of this machine: ages, certificates and times in logs are off by as much.`,
      mend: 'Let both follow NTP (chrony, systemd-timesyncd).',
    }));
}
