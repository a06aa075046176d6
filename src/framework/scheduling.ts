import type { Endpoint } from './endpoint.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis, Random } from './runtime.ts';

/** What one scheduling cycle holds still. */
export interface SchedulingContext {
  readonly request: InferenceRequest;
  readonly now: Millis;
  /** This cycle's own stream of chance: the same request draws the same numbers in every replay. */
  readonly random: Random;
  /** Where another profile of this cycle has sent the request already: the other side of a disaggregated request. */
  readonly peer?: Endpoint | undefined;
  /** A fact about this request and pool, worked out on first use and then shared. */
  get<T>(key: CycleKey<T>): T;
}

declare const value: unique symbol;

/** Names a per-cycle fact, such as how many prefix blocks each endpoint already holds. Equal names are one key. */
export interface CycleKey<T> {
  readonly name: string;
  readonly [value]?: T;
}

export function cycleKey<T>(name: string): CycleKey<T> {
  return { name };
}

/** Drops endpoints that must not serve the request. Keeps order. */
export interface Filter {
  filter(endpoints: readonly Endpoint[], context: SchedulingContext): readonly Endpoint[];
}

/** Rates endpoints. Changes nothing. */
export interface Scorer {
  /**
   * One score in [0, 1] for each endpoint, in the order given; higher is better. The array belongs to the decision: the
   * scorer must not change it afterwards.
   */
  score(endpoints: readonly Endpoint[], context: SchedulingContext): readonly number[];
  /**
   * What the score of this endpoint is made of, where the scorer can name it. It is asked only after a pick, for the
   * winner and the runner-up, before anything has changed: the terms are those that `score` has just used.
   */
  explain?(endpoint: Endpoint, context: SchedulingContext): ScoreTerms;
}

/**
 * The terms of a score by name: the same names in the same order every time, units last, such as `queuedPrefillMs`. The
 * term `costMs`, where there is one, is what sending the request to the endpoint costs; the least cost scores best.
 */
export type ScoreTerms = Readonly<Record<string, number>>;

export interface ScoredEndpoint {
  readonly endpoint: Endpoint;
  readonly score: number;
}

/** Orders the winners, best first; those after the first are the proxy's fallbacks. Never given none. */
export interface Picker {
  pick(
    candidates: readonly ScoredEndpoint[],
    context: SchedulingContext,
  ): readonly ScoredEndpoint[];
}

export interface NamedFilter {
  readonly name: string;
  readonly filter: Filter;
}

export interface WeightedScorer {
  /** Its name in the configuration. */
  readonly name: string;
  /** Its type in the catalogue. */
  readonly type: string;
  readonly weight: number;
  readonly scorer: Scorer;
}

export interface SchedulingProfile {
  readonly name: string;
  readonly filters: readonly NamedFilter[];
  readonly scorers: readonly WeightedScorer[];
  readonly picker: Picker;
}

/** What one profile did in one cycle, step by step. */
export interface ProfileRun {
  readonly profile: SchedulingProfile;
  /** The context that its plugins were given. */
  readonly context: SchedulingContext;
  /**
   * What each filter that ran kept, in the order of `profile.filters`; a profile stops at the first that keeps none. The
   * last of them is what was scored; without filters all candidates were.
   */
  readonly kept: readonly (readonly Endpoint[])[];
  /** One array for each of `profile.scorers`, in order: a score for each scored endpoint. Empty where none was left. */
  readonly scores: readonly (readonly number[])[];
  /** Scores times weights, added up, for each scored endpoint: what the picker was given. */
  readonly scored: readonly ScoredEndpoint[];
}

/** What came of one profile. */
export type ProfileResult =
  | {
      readonly kind: 'picked';
      readonly profile: string;
      /** Best first; those after the first are fallbacks. */
      readonly targets: readonly ScoredEndpoint[];
      /** Undefined where another scheduler than the profiles has decided. */
      readonly run?: ProfileRun | undefined;
    }
  | {
      readonly kind: 'exhausted';
      readonly profile: string;
      readonly candidates: number;
      readonly run?: ProfileRun | undefined;
    };

/** Chooses which profiles run, one after another, and what their results mean together. */
export interface ProfileHandler {
  next(done: readonly ProfileResult[], context: SchedulingContext): SchedulingProfile | undefined;
  /** The `peer` that the profile just asked for is shown. */
  peer?(done: readonly ProfileResult[]): Endpoint | undefined;
  conclude(done: readonly ProfileResult[], context: SchedulingContext): Decision;
}

/** What a scheduler decides about one request: a value, complete when it is returned. */
export interface Decision {
  /** Where the proxy sends the request. */
  readonly primary: ProfileResult;
  /** Headers that tell the chosen server about the others, such as where to prefill. */
  readonly headers: ReadonlyMap<string, string>;
  /** Where else than to its targets the proxy sends the request: one `host:port` for each of them, in order. */
  readonly destinations?: readonly string[];
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill?: Endpoint | undefined;
  /** Where its images and the like are encoded, if elsewhere. */
  readonly encoders?: readonly Endpoint[] | undefined;
  readonly profiles: readonly ProfileResult[];
  /** Who decided it, when it was not the configuration's profiles: the replacement's name. */
  readonly decidedBy?: string | undefined;
}

/** Decides whether a stage of a request, such as its prefill, is served elsewhere than where it is decoded. */
export interface Decider {
  /** Before anybody is picked for the stage. */
  separates(decode: Endpoint, context: SchedulingContext): boolean;
  /** Once somebody is: whether it is worth it. Yes, where left out. */
  keeps?(decode: Endpoint, other: Endpoint, context: SchedulingContext): boolean;
}

/**
 * The whole decision. Replace it to replace the scheduler.
 * Synchronous, so that no update lands between the first score and the pick.
 */
export interface Scheduler {
  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision;
}
