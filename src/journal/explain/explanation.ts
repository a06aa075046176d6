import type { EndpointName, Segment } from './decision-ring.ts';
import type { FoundDecision } from './find-decision.ts';
import type { ProfileLayout } from './layout.ts';
import type { RecordedEnding, RecordedRun } from './segment-reader.ts';

/** A decision for a person, or for a program: all names, no numbers that stand for them. */
export interface Explanation {
  /** Of all decisions that the picker has made, from 0. */
  readonly number: number;
  readonly id: string;
  /** `x-request-id`; empty where there was none. */
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly wallMs: number;
  readonly model: string;
  readonly promptTokens: number;
  readonly streaming: boolean;
  readonly candidates: readonly EndpointName[];
  readonly outcome: Outcome;
  readonly profiles: readonly ExplainedProfile[];
}

export type Outcome =
  | {
      readonly kind: 'picked';
      readonly profile: string;
      readonly endpoint: string;
      readonly score: number;
      readonly prefill?: string;
      /** Another scheduler than the configuration's profiles. */
      readonly decidedBy?: string;
    }
  | { readonly kind: 'exhausted'; readonly profile: string }
  | { readonly kind: 'threw' };

export interface ExplainedProfile {
  readonly profile: string;
  /** All of its filters, in their order; those that were not needed any more have dropped none. */
  readonly filters: readonly { readonly filter: string; readonly dropped: readonly string[] }[];
  readonly scorers: readonly ExplainedScorer[];
  /** What the filters left, best score first; of equals the pick. */
  readonly endpoints: readonly ExplainedEndpoint[];
  /** Best first; those after the first are fallbacks. */
  readonly picked: readonly string[];
  readonly runnerUp?: RunnerUp;
}

export interface ExplainedScorer {
  readonly scorer: string;
  readonly type: string;
  readonly weight: number;
  /** Empty where the scorer tells no more than its score. */
  readonly terms: readonly string[];
  readonly costTerm?: string;
}

export interface ExplainedEndpoint {
  readonly endpoint: string;
  /** Scores times weights, added up. */
  readonly total: number;
  /** In the order of the scorers. */
  readonly scores: readonly number[];
  /** For each scorer the values of its terms. */
  readonly terms: readonly (readonly number[])[];
}

/** The best of those that were not picked. */
export interface RunnerUp {
  readonly endpoint: string;
  /** Below the pick's; negative where chance or the picker went against the scores. */
  readonly scoreBehind: number;
  /** For each scorer that counts costs. */
  readonly costs: readonly {
    readonly scorer: string;
    readonly term: string;
    readonly picked: number;
    readonly runnerUp: number;
    /** What the runner-up would have cost more. */
    readonly more: number;
  }[];
}

export function explain({ segment, number, decision }: FoundDecision): Explanation {
  const { id, requestId, at, model, promptTokens, streaming, candidates, runs, ending } = decision;
  return {
    number,
    id,
    requestId,
    wallMs: at + segment.wallOffsetMs,
    model,
    promptTokens,
    streaming,
    candidates: Array.from(candidates, (slot) => nameOf(segment, slot)),
    outcome: outcomeOf(ending, segment),
    profiles: runs.map((run) => profileOf(run, segment)),
  };
}

export function outcomeOf(ending: RecordedEnding, segment: Segment): Outcome {
  if (ending.kind === 'threw') return ending;
  const profile = segment.layout[ending.profile]?.name ?? '';
  if (ending.kind === 'exhausted') return { kind: 'exhausted', profile };
  const { slot, score, prefill, decidedBy } = ending;
  return {
    kind: 'picked',
    profile,
    endpoint: nameOf(segment, slot).id,
    score,
    ...(prefill !== undefined && { prefill: nameOf(segment, prefill).id }),
    ...(decidedBy !== '' && { decidedBy }),
  };
}

function profileOf(run: RecordedRun, segment: Segment): ExplainedProfile {
  const { name, filters, scorers } = segment.layout[run.profile] as ProfileLayout;
  const ids = (slots: Iterable<number>): readonly string[] =>
    Array.from(slots, (slot) => nameOf(segment, slot).id);
  const told = run.scores.map(({ scorer, inputs }): ExplainedScorer => {
    const { name: by, type, weight, account } = scorers[scorer] as ProfileLayout['scorers'][number];
    const cost = account && { costTerm: account.costTerm };
    return { scorer: by, type, weight, terms: inputs ? (account?.termNames ?? []) : [], ...cost };
  });
  const endpoints = ids(run.eligible).map((endpoint, index): ExplainedEndpoint => {
    const scores = run.scores.map((each) => each.scores[index] ?? Number.NaN);
    const total = scores.reduce((sum, score, at) => sum + (told[at]?.weight ?? 0) * score, 0);
    const terms = run.scores.map(({ scorer, inputs }) =>
      inputs === undefined ? [] : (scorers[scorer]?.account?.terms(inputs, index) ?? []),
    );
    return { endpoint, total, scores, terms };
  });
  const picked = run.picked.map((place) => endpoints[place]?.endpoint ?? '?');
  const isPick = ({ endpoint }: ExplainedEndpoint): number => (endpoint === picked[0] ? 1 : 0);
  const runnerUp = runnerUpOf(endpoints, told, run.picked[0]);
  return {
    profile: name,
    filters: filters.map((filter, at) => ({
      filter,
      dropped: ids(run.drops.find((drop) => drop.filter === at)?.slots ?? []),
    })),
    scorers: told,
    endpoints: endpoints.toSorted((a, b) => b.total - a.total || isPick(b) - isPick(a)),
    picked,
    ...(runnerUp && { runnerUp }),
  };
}

function runnerUpOf(
  endpoints: readonly ExplainedEndpoint[],
  scorers: readonly ExplainedScorer[],
  place: number | undefined,
): RunnerUp | undefined {
  const pick = place === undefined ? undefined : endpoints[place];
  if (pick === undefined || endpoints.length < 2) return undefined;
  const other = endpoints
    .filter((endpoint) => endpoint !== pick)
    .reduce((best, each) => (each.total > best.total ? each : best));
  const costs = scorers.flatMap(({ scorer, terms, costTerm: term }, at) => {
    if (term === undefined) return [];
    const of = (endpoint: ExplainedEndpoint): number =>
      endpoint.terms[at]?.[terms.indexOf(term)] ?? Number.NaN;
    const [picked, runnerUp] = [of(pick), of(other)];
    return [{ scorer, term, picked, runnerUp, more: runnerUp - picked }];
  });
  return { endpoint: other.endpoint, scoreBehind: pick.total - other.total, costs };
}

function nameOf({ endpoints }: Segment, slot: number): EndpointName {
  return endpoints[slot] ?? { id: `slot ${slot}`, address: '' };
}
