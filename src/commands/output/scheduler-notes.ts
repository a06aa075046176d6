import type { JobResult } from '../../lab/simulate/run-job.ts';

/**
 * A sentence for each configuration whose scheduler left decisions to the profiles: the figures
 * are not those of the scheduler alone.
 */
export function schedulerNotes(
  results: readonly Pick<JobResult, 'job' | 'scheduler'>[],
): readonly string[] {
  const byName = Map.groupBy(results, ({ job }) => job.name);
  return [...byName].flatMap(([name, runs]) => {
    let decided = 0;
    const declined = new Map<string, number>();
    for (const { scheduler } of runs) {
      decided += scheduler?.decided ?? 0;
      for (const [reason, count] of Object.entries(scheduler?.declined ?? {})) {
        declined.set(reason, (declined.get(reason) ?? 0) + count);
      }
    }
    const left = [...declined.values()].reduce((sum, count) => sum + count, 0);
    if (left === 0) return [];
    const reasons = [...declined].map(
      ([reason, count]) => `${count.toLocaleString('en')} ${reason}`,
    );
    const all = (decided + left).toLocaleString('en');
    return [
      `${name}: its scheduler left ${left.toLocaleString('en')} of ${all} decisions to the profiles: ${reasons.join(', ')}`,
    ];
  });
}
