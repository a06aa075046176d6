import type { Endpoint } from '../../framework/endpoint.ts';
import type { Declined, ReplacementScheduler } from '../../framework/plugin.ts';
import type { Decision, Scheduler, ScoredEndpoint } from '../../framework/scheduling.ts';

export interface ReplacedScheduler extends Scheduler {
  /** Requests that the replacement has decided. */
  readonly decided: number;
  /** Requests that the profiles decided instead, by reason. */
  readonly declined: ReadonlyMap<string, number>;
}

/** Further reasons count as `other`: a module may return any text. */
const REASONS_MAX = 32;

/** The replacement decides; `builtIn` does where it declines, throws or answers invalidly. */
export function replacedScheduler(
  replacement: ReplacementScheduler,
  builtIn: Scheduler,
): ReplacedScheduler {
  const declined = new Map<string, number>();
  let decided = 0;
  const count = (reason: string): void => {
    const key = declined.has(reason) || declined.size < REASONS_MAX ? reason : 'other';
    declined.set(key, (declined.get(key) ?? 0) + 1);
  };
  return {
    declined,
    get decided() {
      return decided;
    },
    schedule(endpoints, context) {
      const answer = attempt(() => replacement.schedule(endpoints, context));
      const fault = 'declined' in answer ? answer.declined : faultOf(answer, endpoints);
      if (fault === undefined && !('declined' in answer)) {
        decided += 1;
        return { decidedBy: replacement.status?.().name ?? 'module', ...answer };
      }
      count(fault ?? 'other');
      return builtIn.schedule(endpoints, context);
    },
  };
}

function attempt(schedule: () => Decision | Declined): Decision | Declined {
  try {
    return schedule();
  } catch {
    return { declined: 'threw' };
  }
}

function faultOf(
  { primary, prefill }: Decision,
  endpoints: readonly Endpoint[],
): string | undefined {
  if (primary.kind === 'exhausted') return undefined;
  const known = new Set(endpoints);
  const fits = ({ endpoint, score }: ScoredEndpoint): boolean =>
    known.has(endpoint) && Number.isFinite(score);
  if (primary.targets.length === 0 || !primary.targets.every(fits)) return 'not-a-candidate';
  return prefill === undefined || known.has(prefill) ? undefined : 'not-a-candidate';
}
