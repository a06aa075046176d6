import type { OtherEndpoints } from '../../picker/events/journal.ts';
import type { EndpointName, Segment } from './decision-ring.ts';
import type { FoundDecision } from './find-decision.ts';
import type { ExplainedFlow } from './last-flow-stays.ts';
import type { RequestAnswer } from './latest-answers.ts';
import type { ProfileLayout, ScorerLayout } from './layout.ts';
import type { RecordedEnding } from './record-ending.ts';
import type { RecordedWait } from './record-head.ts';
import type { RecordedRun } from './segment-reader.ts';

/** The value in `ScoreTerms`. */
const COST_TERM = 'costMs';

/** A decision by names, for people and for programs. */
export interface Explanation {
  /** Counts all decisions that were recorded, from 0. */
  readonly number: number;
  readonly id: string;
  /** `x-request-id`; empty where there was none. */
  readonly requestId: string;
  /** Milliseconds since the epoch. */
  readonly wallMs: number;
  readonly model: string;
  readonly promptTokens: number;
  readonly streaming: boolean;
  /** The plugins that failed: the decision was made without them. Left out where none did. */
  readonly faults?: string;
  /** The scheduler in whose place the profiles decided, and why. Left out where they did not. */
  readonly insteadOf?: string;
  /** How long the request waited at the picker, and for what. Left out where it did not wait. */
  readonly waited?: ExplainedWait;
  /** What flow control did with the request. Left out where it let it go at once. */
  readonly flowControl?: ExplainedFlow;
  /** Why it was ended for others after its pick. Left out where it was not. */
  readonly evicted?: string;
  /** What became of it. Left out where it was not routed, or so long ago that this is not kept. */
  readonly answer?: RequestAnswer;
  /**
   * How many requests in flight at the pick were taken for lost: they were no load in the
   * decision. Left out where none were.
   */
  readonly lostRequests?: number;
  /**
   * How many other endpoints the request could go to, where the one candidate was an ejected one on
   * trial. Left out where it was not.
   */
  readonly besideTrial?: number;
  /**
   * How many other endpoints the request could go to, but for what each is counted under. Left out
   * where there were none, and for a trial.
   */
  readonly leftOut?: OtherEndpoints;
  readonly candidates: readonly EndpointName[];
  readonly outcome: ExplainedOutcome;
  readonly profiles: readonly ExplainedProfile[];
}

export interface ExplainedWait {
  readonly waitedMs: number;
  /** The endpoint for which it waited: the best for it when it was placed. */
  readonly endpoint?: string;
  /** Tokens of its prompt that this endpoint was expected to hold. */
  readonly cachedTokens: number;
}

export type ExplainedOutcome =
  | {
      readonly kind: 'picked';
      readonly profile: string;
      readonly endpoint: string;
      readonly score: number;
      readonly prefill?: string;
      /** The name of the scheduler that decided in place of the configuration's profiles. */
      readonly decidedBy?: string;
    }
  | { readonly kind: 'exhausted'; readonly profile: string }
  /** The scheduler that stands in place of the profiles refused the request. */
  | { readonly kind: 'refused'; readonly refusedBy: string }
  /** Screening left no endpoint; no profile ran. */
  | { readonly kind: 'screened' }
  /** A plugin refused the request on purpose. */
  | { readonly kind: 'rejected'; readonly why: string }
  /** No endpoint could begin the request in the time for which it may wait. */
  | { readonly kind: 'expired'; readonly why: string }
  /** No endpoint could be asked: the pool is empty, its subset is, or all are full. */
  | { readonly kind: 'no-candidates'; readonly why: string }
  | { readonly kind: 'threw' };

export interface ExplainedProfile {
  readonly profile: string;
  /** All of its filters, in their order; one that did not run has dropped none. */
  readonly filters: readonly { readonly filter: string; readonly dropped: readonly string[] }[];
  readonly scorers: readonly ExplainedScorer[];
  /**
   * The endpoints that the filters left, best total first; among equals the pick is first. In a
   * large pool only the best of them and the targets.
   */
  readonly endpoints: readonly ExplainedEndpoint[];
  /** How many others were scored, none of them higher than the last of the best. */
  readonly notKept: number;
  /** Best first; those after the first are fallbacks. */
  readonly picked: readonly string[];
  readonly runnerUp?: RunnerUp;
}

export interface ExplainedScorer {
  readonly scorer: string;
  readonly type: string;
  readonly weight: number;
  /** The names of its terms; empty where the scorer does not explain its scores. */
  readonly terms: readonly string[];
  /** The term that the scorer keeps low, if there is one. */
  readonly costTerm?: string;
}

interface ExplainedEndpoint {
  readonly endpoint: string;
  /** Scores times weights, added up. */
  readonly total: number;
  /** In the order of the scorers; NaN for a scorer that failed. */
  readonly scores: readonly number[];
  /** For each scorer the values of its terms; empty but for pick and runner-up. */
  readonly terms: readonly (readonly number[])[];
}

/** The best endpoint that was not picked. */
export interface RunnerUp {
  readonly endpoint: string;
  /** The pick's total less its own; negative where the picker did not go by totals alone. */
  readonly scoreBehind: number;
  /** For each scorer with a cost term. */
  readonly costs: readonly {
    readonly scorer: string;
    readonly term: string;
    readonly picked: number;
    readonly runnerUp: number;
    /** By how much the runner-up would have cost more. */
    readonly more: number;
  }[];
}

/** What the bytes of a decision say, with the names of endpoints and plugins. */
export function explain({ segment, number, decision }: FoundDecision): Explanation {
  const { id, requestId, at, model, promptTokens, streaming, candidates, runs, ending } = decision;
  const { faults, insteadOf, waited, lostRequests, besideTrial, leftOut } = decision;
  return {
    number,
    id,
    requestId,
    wallMs: at + segment.wallOffsetMs,
    model,
    promptTokens,
    streaming,
    ...(faults !== '' && { faults }),
    ...(insteadOf !== '' && { insteadOf }),
    ...(waited !== undefined && { waited: waitOf(waited, segment) }),
    ...(lostRequests > 0 && { lostRequests }),
    ...(besideTrial > 0 && { besideTrial }),
    ...(leftOut !== undefined && { leftOut }),
    candidates: Array.from(candidates, (slot) => nameOf(segment, slot)),
    outcome: outcomeOf(ending, segment),
    profiles: runs.map((run) => profileOf(run, segment)),
  };
}

function waitOf({ waitedMs, slot, cachedTokens }: RecordedWait, segment: Segment): ExplainedWait {
  const endpoint = slot !== undefined && { endpoint: nameOf(segment, slot).id };
  return { waitedMs, ...endpoint, cachedTokens };
}

/** How a decision ended, with the names of profile and endpoint. */
export function outcomeOf(ending: RecordedEnding, segment: Segment): ExplainedOutcome {
  if (ending.kind !== 'picked' && ending.kind !== 'exhausted') return ending;
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
  const { name, filters, scorers: layouts } = segment.layout[run.profile] as ProfileLayout;
  const ids = (slots: Iterable<number>): readonly string[] =>
    Array.from(slots, (slot) => nameOf(segment, slot).id);
  const scorers = run.scores.map((_scores, at) => {
    const { name: scorer, type, weight, terms: names } = layouts[at] as ScorerLayout;
    const terms = (run.terms[at]?.pick.length ?? 0) > 0 ? names : [];
    const cost = terms.includes(COST_TERM) && { costTerm: COST_TERM };
    return { scorer, type, weight, terms, ...cost };
  });
  const endpoints = Array.from(run.scored, (slot, place): ExplainedEndpoint => {
    const scores = run.scores.map((each) => each[place] ?? Number.NaN);
    // A scorer that failed has no scores, and its part is not in the total.
    const parts = scores.map((score, at) => (scorers[at]?.weight ?? 0) * score);
    const total = parts.reduce((sum, part) => (Number.isNaN(part) ? sum : sum + part), 0);
    return { endpoint: nameOf(segment, slot).id, total, scores, terms: termsOf(run, slot) };
  });
  const [pick, runnerUp] = [run.picked[0], run.runnerUp].map(
    (slot) => endpoints[slot === undefined ? -1 : run.scored.indexOf(slot)],
  );
  return {
    profile: name,
    filters: filters.map((filter, at) => ({
      filter,
      dropped: ids(run.drops.find((drop) => drop.filter === at)?.slots ?? []),
    })),
    scorers,
    endpoints: endpoints.toSorted(
      (a, b) => b.total - a.total || Number(b === pick) - Number(a === pick),
    ),
    notKept: run.eligible.length - run.scored.length,
    picked: ids(run.picked),
    ...(pick && runnerUp && { runnerUp: comparison(pick, runnerUp, scorers) }),
  };
}

function termsOf(
  { picked, runnerUp, terms }: RecordedRun,
  slot: number,
): ExplainedEndpoint['terms'] {
  return terms.map((each) => {
    if (slot === picked[0]) return each.pick;
    return slot === runnerUp ? each.runnerUp : [];
  });
}

function comparison(
  pick: ExplainedEndpoint,
  other: ExplainedEndpoint,
  scorers: readonly ExplainedScorer[],
): RunnerUp {
  const costs = scorers.flatMap(({ scorer, terms, costTerm: term }, at) => {
    if (term === undefined) return [];
    const costOf = (endpoint: ExplainedEndpoint): number =>
      endpoint.terms[at]?.[terms.indexOf(term)] ?? Number.NaN;
    const [picked, runnerUp] = [costOf(pick), costOf(other)];
    return [{ scorer, term, picked, runnerUp, more: runnerUp - picked }];
  });
  return { endpoint: other.endpoint, scoreBehind: pick.total - other.total, costs };
}

function nameOf({ endpoints }: Segment, slot: number): EndpointName {
  return endpoints[slot] ?? { id: `slot ${slot}`, address: '' };
}
