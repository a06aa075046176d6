import type { PickerMetrics } from '../../journal/metrics/metrics.ts';
import type { RealRuntime } from '../../runtime/real-runtime.ts';
import type { LeaderElection } from '../election/leader-election.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { ServingState } from './serving-state.ts';

/** What an election needs of the picker. */
interface ElectionParts {
  readonly metrics: PickerMetrics;
  readonly runtime: RealRuntime;
  readonly serving: ServingState;
}

/** Begins to take part in the election; undefined where the picker takes part in none. */
export async function joinElection(
  { pool: { kubernetes, election }, log }: ServeOptions,
  { metrics, runtime, serving }: ElectionParts,
): Promise<LeaderElection | undefined> {
  if (election === undefined || kubernetes === undefined) return undefined;
  const { startElection } = await import('../election/start-election.ts');
  return startElection({
    ...kubernetes,
    ...election,
    clock: runtime.clock,
    random: runtime.random.fork('election'),
    registry: metrics.registry,
    log,
    onChange: (leading) => serving.setLeading(leading),
  });
}
