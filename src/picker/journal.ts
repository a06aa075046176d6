import type { Endpoint } from '../framework/endpoint.ts';
import type {
  EndpointObserver,
  Outcome,
  RequestObserver,
  Routed,
  Usage,
} from '../framework/observer.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { RouteOptions } from '../framework/routing.ts';
import type { Millis } from '../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../framework/scheduling.ts';
import type { PickerPlan } from './plan/picker-plan.ts';

/** One decision as the picker publishes it: what was asked, what was decided, or why nothing was. */
export interface DecisionEvent {
  /** Counts the picker's decisions from 0. `Routed.number` of the same request is equal. */
  readonly number: number;
  readonly at: Millis;
  readonly request: InferenceRequest;
  readonly options: RouteOptions;
  /** The endpoints that the request could go to, before any filter. */
  readonly candidates: readonly Endpoint[];
  /** Undefined where there was no candidate. */
  readonly context: SchedulingContext | undefined;
  /** Undefined where there was no candidate, or the scheduler threw. */
  readonly decision: Decision | undefined;
  /** What the caller of `route` gets thrown: a RoutingError, or a fault of ours. Undefined for a request that is routed. */
  readonly error: unknown;
  /** Milliseconds that the scheduler took; undefined where nobody measures. */
  readonly durationMs: Millis | undefined;
}

/**
 * Is given what happened, after it happened and in order, and changes nothing of it. Each subscriber is called before the
 * plugins that observe the same event. A subscriber must not throw and must not take long: requests wait for it.
 */
export interface JournalSubscriber extends RequestObserver, EndpointObserver {
  /** Once for each decision, before its reservation is made: all that the scheduler has seen is still as it was. */
  onDecision?(event: DecisionEvent): void;
  /** The proxy reports the address, `host:port`, that it really used. */
  onServed?(routed: Routed, address: string, at: Millis): void;
  /**
   * The response has ended, or its stream has. `onDone` follows at once, or later where the end of the response is not
   * seen and has to be predicted.
   */
  onEnded?(
    routed: Routed,
    at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
  ): void;
  /** A request has waited for what its decision needs: tokens, or an answer from another process. */
  onPrepared?(request: InferenceRequest, waitedMs: Millis): void;
  /** A timer that was set within an event fires; timers are numbered from 0 in the order in which they were set. */
  onTimer?(timer: number, at: Millis): void;
  /** Another configuration decides from now on. */
  onAdopted?(plan: PickerPlan, at: Millis): void;
}
