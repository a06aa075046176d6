import type { ReplacementReport } from '../../framework/plugin.ts';

/** What decides, as JSON: `profiles`, or how the scheduler in their place fares. */
export function describeReplacement(report: ReplacementReport | undefined): object {
  if (report === undefined) return { decides: 'profiles' };
  const { declined, ...rest } = report;
  return { decides: 'scheduler', ...rest, declined: Object.fromEntries(declined) };
}
