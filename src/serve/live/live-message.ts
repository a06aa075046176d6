import type { ExplainedProfile, Explanation } from '../../journal/explain/explanation.ts';
import type { PromotedShadow } from '../../promotion/promotion.ts';
import type { Readiness } from '../admin/admin-routes.ts';
import type { WaitingDocument } from '../admin/describe-waiting.ts';

/** What the live page and `pointsman top` read from `/debug/live`: one object for each event. */
export interface LiveMessage {
  /** Milliseconds since the epoch. */
  readonly wallMs: number;
  /** It is only in the first message of a viewer. */
  readonly picker?: LivePicker;
  readonly totals: LiveTotals;
  readonly health: LiveHealth;
  /** The shadow that decides a part of the requests or all; left out for none. */
  readonly promoted?: PromotedShadow;
  /** Steps that have ended since the last message, oldest first; all that are kept in the first. */
  readonly steps: readonly LiveStep[];
  /** Left out where the pool is large and was sent a moment ago. */
  readonly pool?: LivePool;
  readonly decisions: LiveDecisions;
  /**
   * The latest few that flow control refused in the last ten minutes, the latest first; left out
   * for none.
   */
  readonly refused?: readonly LiveRefusal[];
  /** What `totals.waiting` counts; left out where nothing waits. */
  readonly waiting?: LiveWaiting;
}

export interface LivePicker {
  readonly version: string;
  readonly pool: string;
  readonly policy: string;
  readonly stepMs: number;
  /** When this process of the picker began, in milliseconds since the epoch. */
  readonly startedMs: number;
  /** The paths of `/debug/…` that this picker answers. */
  readonly documents: readonly string[];
  /** False where `--explain-decisions 0` keeps none. */
  readonly explains: boolean;
}

export interface LiveTotals {
  readonly endpoints: number;
  /** Requests that were sent and whose end was not seen. */
  readonly inFlight: number;
  /** Requests that wait at the picker. */
  readonly waiting: number;
  readonly viewers: number;
}

/** What `/readyz` says at the same time. */
export type LiveHealth = Pick<Readiness, 'state' | 'reasons'>;

/** What happened in one step of time. */
export interface LiveStep {
  /** The beginning, in milliseconds since the epoch. */
  readonly wallMs: number;
  /** Decisions with an endpoint, and clients that were refused. */
  readonly picked: number;
  readonly refused: number;
  /** Requests that waited at the picker before their decision. */
  readonly held: number;
  /** Requests that have ended with a failure of the model server. */
  readonly failed: number;
  /** Times of streamed answers; null where none began in this step. */
  readonly ttftMs: LiveTtft | null;
}

/** Time to first token. Quantiles of a histogram: within 5 % of the right value. */
export interface LiveTtft {
  readonly count: number;
  readonly median: number;
  readonly p95: number;
  /** What was predicted at the picks of the same requests, with the wait; null for none. */
  readonly predictedMedian: number | null;
}

export interface LivePool {
  readonly rows: readonly LiveEndpoint[];
  /** Endpoints beyond the rows: the least loaded ones without trouble. */
  readonly notShown: number;
  /** Why there is no endpoint, where that is known. */
  readonly whyEmpty?: string;
}

export interface LiveEndpoint {
  readonly id: string;
  readonly address: string;
  readonly role?: string;
  /** Each is `name=value`. They are only in some messages, because they seldom change. */
  readonly labels?: readonly string[];
  /** How many requests this picker has sent there whose end it has not seen. */
  readonly inFlight: number;
  /** How many of them are taken for lost, and are no load in decisions; left out for none. */
  readonly lost?: number;
  /** Prompt tokens of these requests that are not computed yet. */
  readonly prefillTokens: number;
  /** By the last sample; null where there is none. */
  readonly sample: {
    readonly ageMs: number;
    readonly running: number;
    readonly waiting: number;
    readonly kv: number;
  } | null;
  /**
   * Share of prompt tokens that were expected in the cache, about the last minute; null where nothing
   * was sent, or nothing is known of caches.
   */
  readonly hitRate: number | null;
  readonly state: 'ok' | 'new' | 'stale' | 'not scraped' | 'ejected';
  /** Why it is in this state, where it is not `ok`. */
  readonly why?: string;
}

/** The document of `/debug/waiting` with its first groups and endpoints. */
export interface LiveWaiting extends WaitingDocument {
  /** Endpoints for which fewer requests wait. */
  readonly endpointsNotShown: number;
}

export interface LiveDecisions {
  /** Decisions since the last message, of which `shown` has the latest few. */
  readonly made: number;
  readonly shown: readonly LiveDecision[];
}

/** A request that flow control refused. */
export interface LiveRefusal {
  readonly requestId: string;
  readonly wallMs: number;
  readonly priority: number;
  readonly fairnessId: string;
  readonly waitedMs: number;
  readonly status: number;
  readonly why: string;
}

/** An explanation with the best endpoints only, and how long the request was held. */
export interface LiveDecision
  extends Omit<Explanation, 'candidates' | 'profiles' | 'streaming' | 'waited'> {
  readonly candidates: number;
  readonly profiles: readonly LiveProfile[];
  /** How long the request waited at the picker, and for which endpoint or why. */
  readonly held?: LiveHeld;
  readonly expectedTtftMs?: number;
}

export interface LiveHeld {
  readonly ms: number;
  readonly endpoint?: string;
  /** What flow control says of it, in parts of a sentence. */
  readonly why?: readonly string[];
}

export interface LiveProfile extends Omit<ExplainedProfile, 'filters' | 'picked'> {
  readonly filters: readonly { readonly filter: string; readonly dropped: number }[];
}
