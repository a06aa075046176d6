import type { Endpoint } from '../../framework/endpoint.ts';
import type { Declined, ReplacementScheduler } from '../../framework/replacement.ts';
import type {
  Decision,
  Scheduler,
  SchedulingContext,
  ScoredEndpoint,
} from '../../framework/scheduling.ts';
import type { PluginFaults } from '../faults/plugin-faults.ts';
import { faultOfHeaders } from './checked-results.ts';
import { stageHeaders } from './stage-headers.ts';

export interface ReplacedScheduler extends Scheduler {
  /** Requests that the replacement has decided. */
  readonly decided: number;
  /** Requests that the profiles decided instead, by reason. */
  readonly declined: ReadonlyMap<string, number>;
}

interface ReplacementParts {
  /** The type of its plugin: its name where it gives itself none. */
  readonly type: string;
  readonly faults: PluginFaults;
  /** How many of its targets the proxy gets; undefined for all. */
  readonly targetsMax?: number | undefined;
}

/** Further reasons count as `other`: a module may return any text. */
const REASONS_MAX = 32;

/** The replacement decides; `builtIn` does where it declines, throws or answers invalidly. */
export function replacedScheduler(
  replacement: ReplacementScheduler,
  builtIn: Scheduler,
  parts: ReplacementParts,
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
      const answer = attempt(replacement, endpoints, context, parts);
      if ('declined' in answer) {
        count(answer.declined);
        const scheduler = nameOf(replacement, parts.type);
        const insteadOf = { scheduler, reason: answer.declined };
        return { ...builtIn.schedule(endpoints, context), insteadOf };
      }
      decided += 1;
      return answer;
    },
  };
}

/** The name that a scheduler gives itself, or else the type of its plugin. */
export function nameOf(scheduler: ReplacementScheduler, type: string): string {
  return scheduler.status?.().name ?? type;
}

/** The replacement's decision with its name, if it can be used. */
function attempt(
  replacement: ReplacementScheduler,
  endpoints: readonly Endpoint[],
  context: SchedulingContext,
  { type, faults, targetsMax = Number.POSITIVE_INFINITY }: ReplacementParts,
): Decision | Declined {
  try {
    const answer = replacement.schedule(endpoints, context);
    if ('declined' in answer) return { declined: String(answer.declined) };
    const fault = faultOf(answer, endpoints);
    if (fault !== undefined) return { declined: fault };
    return usedOf(answer, nameOf(replacement, type), targetsMax);
  } catch (error) {
    faults.report(replacement, 'schedule', error);
    return { declined: 'threw' };
  }
}

/** What is done of a valid answer of the replacement of this name. */
function usedOf(answer: Decision, name: string, targetsMax: number): Decision {
  const { primary } = answer;
  const decision = { decidedBy: name, ...answer };
  if (primary.kind !== 'picked') {
    return { ...decision, primary: { ...primary, refusedBy: name } };
  }
  const staged = withStages(decision, primary.targets[0]?.endpoint);
  const { targets } = primary;
  if (targets.length <= targetsMax) return staged;
  const sent = { ...primary, targets: targets.slice(0, targetsMax) };
  return { ...staged, primary: sent, named: targets };
}

/** With the headers that lead to the endpoints of other stages. One that also decodes is none. */
function withStages(decision: Decision, decoder: Endpoint | undefined): Decision {
  const { prefill: named, encoders = [], headers } = decision;
  if (named === undefined && encoders.length === 0) return decision;
  const prefill = named === decoder ? undefined : named;
  const added = stageHeaders({ prefill, encoders });
  return { ...decision, prefill, headers: new Map([...headers, ...added]) };
}

function faultOf(
  { primary, prefill, encoders = [], headers, profiles }: Decision,
  endpoints: readonly Endpoint[],
): string | undefined {
  if (!(headers instanceof Map) || !Array.isArray(profiles)) return 'malformed';
  if (faultOfHeaders(headers) !== undefined) return 'bad-header';
  if (primary.kind === 'exhausted') return undefined;
  const known = new Set(endpoints);
  const fits = ({ endpoint, score }: ScoredEndpoint): boolean =>
    known.has(endpoint) && Number.isFinite(score);
  if (primary.targets.length === 0 || !primary.targets.every(fits)) return 'not-a-candidate';
  const stages = prefill === undefined ? encoders : [prefill, ...encoders];
  return stages.every((endpoint) => known.has(endpoint)) ? undefined : 'not-a-candidate';
}
