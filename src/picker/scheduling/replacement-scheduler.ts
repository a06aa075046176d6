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
    const unusable = unusableIn(answer, endpoints);
    if (unusable !== undefined) {
      faults.report(replacement, 'schedule', new Error(unusable.why));
      return { declined: unusable.reason };
    }
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

interface Unusable {
  /** Labels a metric. */
  readonly reason: string;
  /** A sentence for the author of the scheduler. */
  readonly why: string;
}

/** A scheduler from outside may answer what its type does not allow. */
function unusableIn(answer: Decision, endpoints: readonly Endpoint[]): Unusable | undefined {
  const { primary, prefill, encoders = [], headers, profiles } = answer;
  if (!(headers instanceof Map) || !Array.isArray(profiles)) {
    return { reason: 'malformed', why: whyMalformed(answer) };
  }
  const headerFault = faultOfHeaders(headers);
  if (headerFault !== undefined) return { reason: 'bad-header', why: headerFault };
  if (primary.kind === 'exhausted') return undefined;
  const known = new Set(endpoints);
  const stages = prefill === undefined ? encoders : [prefill, ...encoders];
  const why = whyNoTargets(primary.targets, known) ?? notOffered(stages, known);
  return why === undefined ? undefined : { reason: 'not-a-candidate', why };
}

function whyMalformed(answer: object): string {
  return 'then' in answer
    ? 'it returned a promise, but a decision does not wait: learn in an observer what takes time'
    : 'its decision lacks headers, which are a Map, or profiles, which are an array';
}

function whyNoTargets(
  targets: readonly ScoredEndpoint[],
  known: ReadonlySet<Endpoint>,
): string | undefined {
  if (targets.length === 0) return 'it picked no endpoint: to leave a request it returns declined';
  const bad = targets.find(({ score }) => !Number.isFinite(score));
  if (bad !== undefined) return `it gave ${String(bad.score)}, which is no score`;
  return notOffered(
    targets.map(({ endpoint }) => endpoint),
    known,
  );
}

function notOffered(named: readonly Endpoint[], known: ReadonlySet<Endpoint>): string | undefined {
  const other = named.findIndex((endpoint) => !known.has(endpoint));
  if (other < 0) return undefined;
  return `it named the endpoint ${String(named[other]?.id)}, which was not offered for this request`;
}
