import type { Finding } from './finding.ts';

/** Where a clock is, and how far it is ahead of the clock here; below 0 it is behind. */
export interface ClockAhead {
  readonly where: string;
  readonly aheadMs: number;
}

/** HTTP gives times in whole seconds. */
const AHEAD_MS_MAX = 2000;

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
