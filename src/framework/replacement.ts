import type { Endpoint } from './endpoint.ts';
import type { Observer } from './observer.ts';
import type { InferenceRequest } from './request.ts';
import type { Millis } from './runtime.ts';
import type { Decision, SchedulingContext } from './scheduling.ts';

/** The reason of a scheduler that works and leaves the request to the profiles on purpose. */
export const NO_OPINION = 'no-opinion';

/** Why a replacement leaves a request to the profiles. Few values: it labels a metric. */
export interface Declined {
  readonly declined: string;
}

/** `slow`: connected, but its answers fail or come too late, so that it is not asked. */
export const SCHEDULER_STATES = ['connecting', 'connected', 'slow', 'gone'] as const;
export type SchedulerState = (typeof SCHEDULER_STATES)[number];

/** States of a circuit breaker: see `Breaker`. */
export const BREAKER_STATES = ['closed', 'open', 'half-open'] as const;
export type BreakerState = (typeof BREAKER_STATES)[number];

/** The state of a replacement. */
export interface SchedulerStatus {
  /** The name that it gives itself. */
  readonly name: string;
  readonly connected: boolean;
  readonly breaker: BreakerState;
  readonly state?: SchedulerState;
  /** When it got into that state, since the Unix epoch, and why. */
  readonly since?: Millis;
  readonly cause?: string;
  /** Why it was gone or slow last. */
  readonly lastError?: string | undefined;
  /** How often it has got into each state. */
  readonly changes?: ReadonlyMap<SchedulerState, number>;
  /** Answers without effect: after the deadline, or to no question. */
  readonly ignoredAnswers: number;
  /** Requests that it was asked about and has not answered yet. */
  readonly unanswered?: number;
}

/** The state of a scheduler in place of the profiles, with its counts. */
export interface ReplacementReport extends Partial<SchedulerStatus> {
  /** The name that it gives itself; the type of its plugin for one that gives none. */
  readonly name: string;
  /** Requests that it has decided. */
  readonly decided: number;
  /** Requests that the profiles decided instead, by reason. */
  readonly declined: ReadonlyMap<string, number>;
}

/** The report of a challenger’s scheduler, such as a promoted shadow, with the challenger's name. */
export interface ChallengerReport extends ReplacementReport {
  readonly challenger: string;
}

/** Decides in place of a configuration's profiles, which decide what it declines. */
export interface ReplacementScheduler extends Observer {
  /**
   * Does what `Scheduler.schedule` does: it is synchronous and changes nothing. An error, and an
   * answer with an endpoint that is not among `endpoints`, count as declined.
   */
  schedule(endpoints: readonly Endpoint[], context: SchedulingContext): Decision | Declined;
  /** See `RequestPreparation.prepare`; `candidates` are the current endpoints. */
  prepare?(request: InferenceRequest, candidates: Candidates, ready: () => void): boolean;
  status?(): SchedulerStatus;
  stop?(): void;
}

/** The endpoints that a request may go to. */
export interface Candidates {
  readonly endpoints: readonly Endpoint[];
  /** The proxy gave no subset. */
  readonly all: boolean;
}
