import type { Endpoint } from './endpoint.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis, Random } from './runtime.ts';

/** The inputs of one scheduling cycle, which do not change during it. */
export interface SchedulingContext {
  readonly request: InferenceRequest;
  readonly now: Millis;
  /** Random numbers of this cycle: the same request gets the same numbers in every replay. */
  readonly random: Random;
  /** The endpoint that an earlier profile picked: the other side of a disaggregated request. */
  readonly peer?: Endpoint | undefined;
  /** A fact about this request and pool, computed on first use and then shared. */
  get<T>(key: CycleKey<T>): T;
}

declare const value: unique symbol;

/** Names a fact of a cycle, such as the matched prefixes. Equal names are the same key. */
export interface CycleKey<T> {
  readonly name: string;
  readonly [value]?: T;
}

/** A key for one value in a cycle. Keys of the same name are the same key. */
export function cycleKey<T>(name: string): CycleKey<T> {
  return { name };
}

/**
 * Removes endpoints that must not serve the request. Keeps the order. One that throws, or returns
 * anything but some of the endpoints, is left out: it removes none. With a RoutingError a plugin of
 * any kind refuses the request.
 */
export interface Filter {
  filter(endpoints: readonly Endpoint[], context: SchedulingContext): readonly Endpoint[];
}

/** Scores endpoints. Changes nothing. */
export interface Scorer {
  /**
   * One score in [0, 1] for each endpoint, in the given order; higher is better. The array becomes
   * part of the decision: the scorer must not change it afterwards. A score below 0 counts as 0 and
   * one above 1 as 1. A scorer that throws, or whose scores are of another number or not finite, is
   * left out.
   */
  score(endpoints: readonly Endpoint[], context: SchedulingContext): readonly number[];
  /**
   * The terms of this endpoint's score. Called only after a pick, for the winner and the runner-up,
   * before anything has changed: the terms are those that `score` has just used.
   */
  explain?(endpoint: Endpoint, context: SchedulingContext): ScoreTerms;
}

/**
 * The terms of a score by name, with units last, such as `queuedPrefillMs`: always the same names
 * in the same order. The term `costMs`, where there is one, is the cost of sending the request to
 * the endpoint; the least cost scores best.
 */
export type ScoreTerms = Readonly<Record<string, number>>;

export interface ScoredEndpoint {
  readonly endpoint: Endpoint;
  readonly score: number;
}

/**
 * Orders the winners, best first; the others are fallbacks. `candidates` is never empty. In place
 * of a picker that throws or picks no candidate, the highest score decides.
 */
export interface Picker {
  pick(
    candidates: readonly ScoredEndpoint[],
    context: SchedulingContext,
  ): readonly ScoredEndpoint[];
  /**
   * Called in place of `pick` where it is given, and picks the same. With hundreds of endpoints, an
   * object for each candidate is more garbage than all else that a decision makes.
   */
  pickFrom?(candidates: Totals, context: SchedulingContext): readonly ScoredEndpoint[];
}

/** The candidates of a pick: endpoints, and the total of each in the same order. */
export interface Totals {
  readonly endpoints: readonly Endpoint[];
  readonly totals: readonly number[];
}

/** Each candidate as an object, in the same order. */
export function scoredOf({ endpoints, totals }: Totals): readonly ScoredEndpoint[] {
  return endpoints.map((endpoint, at) => ({ endpoint, score: totals[at] as number }));
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

/**
 * What one profile did in one cycle, step by step. Its `endpoints` are those that were scored, and
 * `totals` the weighted sums of their scores, which the picker received; by the load in flight
 * where all scorers failed.
 */
export interface ProfileRun extends Totals {
  readonly profile: SchedulingProfile;
  /** The context that its plugins received. */
  readonly context: SchedulingContext;
  /**
   * The endpoints that each filter kept, in the order of `profile.filters`; a profile stops at the
   * first filter that keeps none. The last entry was scored; without filters all candidates were.
   */
  readonly kept: readonly (readonly Endpoint[])[];
  /**
   * For each of `profile.scorers`: scores of the scored endpoints, or NaN for each where the scorer
   * failed. Empty where none was left.
   */
  readonly scores: readonly (readonly number[])[];
}

/** The result of one profile. */
export type ProfileResult =
  | {
      readonly kind: 'picked';
      readonly profile: string;
      /** Best first; those after the first are fallbacks. */
      readonly targets: readonly ScoredEndpoint[];
      /** Undefined where a replacement decided instead of the profiles. */
      readonly run?: ProfileRun | undefined;
    }
  | {
      readonly kind: 'exhausted';
      readonly profile: string;
      readonly candidates: number;
      /** No profile ran: screening left no endpoint. */
      readonly screened?: true | undefined;
      /** The replacement that refused the request; no filter was asked. */
      readonly refusedBy?: string | undefined;
      readonly run?: ProfileRun | undefined;
    };

/**
 * Chooses which profiles run, one after another, and combines their results into a decision. In
 * place of a handler that fails, the first profile that ran decides, or else the load in flight.
 */
export interface ProfileHandler {
  next(done: readonly ProfileResult[], context: SchedulingContext): SchedulingProfile | undefined;
  /** The `peer` in the context of the profile that `next` has just returned. */
  peer?(done: readonly ProfileResult[]): Endpoint | undefined;
  conclude(done: readonly ProfileResult[], context: SchedulingContext): Decision;
}

/** What a scheduler decides about one request: a value, complete when it is returned. */
export interface Decision {
  /** Where the proxy sends the request. */
  readonly primary: ProfileResult;
  /** Request headers for the chosen server, such as where to prefill. */
  readonly headers: ReadonlyMap<string, string>;
  /** Where the proxy sends the request instead: one `host:port` for each target. */
  readonly destinations?: readonly string[];
  /** Where its prompt is computed, if elsewhere. */
  readonly prefill?: Endpoint | undefined;
  /** Where its images and other media are encoded, if elsewhere. */
  readonly encoders?: readonly Endpoint[] | undefined;
  readonly profiles: readonly ProfileResult[];
  /** The name of the replacement or challenger, where it decided. */
  readonly decidedBy?: string | undefined;
  /** All targets that the replacement named, the best first, where the proxy is sent fewer. */
  readonly named?: readonly ScoredEndpoint[] | undefined;
  /** The replacement in whose place the profiles decided, and why. */
  readonly insteadOf?: { readonly scheduler: string; readonly reason: string } | undefined;
}

/** Decides whether a stage, such as the prefill, runs on another server than the decode. */
export interface Decider {
  /** Asked before an endpoint is picked for the stage. */
  separates(decode: Endpoint, context: SchedulingContext): boolean;
  /** Asked after the pick: whether the other server is worth it. Where left out, it is. */
  keeps?(
    decode: Endpoint,
    other: Endpoint,
    context: SchedulingContext,
    pickedFrom?: PickedFrom,
  ): boolean;
}

/** From how many endpoints each of the two was picked. */
export interface PickedFrom {
  readonly decode: number;
  readonly other: number;
}

/** Makes the whole decision. Synchronous, so that no update arrives during a cycle. */
export interface Scheduler {
  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision;
}
