import type { Endpoint } from '../../framework/endpoint.ts';
import type {
  EndpointObserver,
  Outcome,
  RequestObserver,
  Routed,
  Usage,
} from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { HeldSum, RouteOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Decision, SchedulingContext } from '../../framework/scheduling.ts';
import { type PluginFaults, typeNameOf } from '../faults/plugin-faults.ts';
import type { PickerPlan } from '../plan/picker-plan.ts';

/** What a core expects of a request, which it is reserved by. */
export interface Expectation {
  readonly cachedTokens: number;
  readonly prefillCachedTokens: number;
  /** Undefined where the core does not estimate answers. */
  readonly estimatedOutputTokens: number | undefined;
}

/** How many endpoints are no candidates of a decision, by the reason that stands first. */
export interface OtherEndpoints {
  readonly ejected: number;
  /** Suspects: their scrapes are later than those of the others. */
  readonly late: number;
  /** They have as many requests in flight as they may. */
  readonly full: number;
}

/** A decision as the picker publishes it: the request, and the decision or why there is none. */
export interface DecisionEvent {
  /** Counts the picker's decisions from 0. `Routed.number` of the same request is equal. */
  readonly number: number;
  readonly at: Millis;
  readonly request: InferenceRequest;
  readonly options: RouteOptions;
  /**
   * How many plans were adopted since the one that decides: more than 0 only where that one had
   * begun to prepare the request.
   */
  readonly adoptionsAgo: number;
  /** How often what decides has changed since, with the beginnings and ends of challenges. */
  readonly changesAgo: number;
  /** What a challenger expects of what it decides; undefined where the core in charge decides. */
  readonly expected: Expectation | undefined;
  /** The endpoints that the request could go to, before any filter. */
  readonly candidates: readonly Endpoint[];
  /** Undefined where there was no candidate. */
  readonly context: SchedulingContext | undefined;
  /** Undefined where there was no candidate, or the scheduler threw. */
  readonly decision: Decision | undefined;
  /** What `route` throws. Undefined for a routed request. */
  readonly error: unknown;
  /**
   * The challenger, the scheduler or the observed picker that refused the request; undefined where
   * the picker itself or the profiles of the plan in charge did.
   */
  readonly refusedBy: string | undefined;
  /** What waited for each endpoint and went before it; undefined where nothing waited. */
  readonly heldBefore: readonly HeldSum[] | undefined;
  /** See `InFlightView.isCrowdedOut`. */
  readonly crowdedOut: boolean;
  /**
   * How many requests in flight at the pick are taken for lost: they were no load in the decision.
   */
  readonly lostRequests: number;
  /**
   * Where the one candidate was an ejected endpoint on trial: how many others the request could go
   * to. Else 0.
   */
  readonly besideTrial: number;
  /**
   * The endpoints that the request could go to and that were no candidates; undefined for none, and
   * for a trial.
   */
  readonly leftOut: OtherEndpoints | undefined;
  /** One sentence for each failure of a plugin, which the decision was made without. */
  readonly faults: readonly string[];
  /** Time that the scheduler took; undefined without a stopwatch. */
  readonly durationMs: Millis | undefined;
}

/**
 * Receives what happened, in order, and changes nothing. It is called before the plugins that
 * observe the same event. It must return quickly, because requests wait for it. What it throws is
 * reported and has no effect.
 */
export interface JournalSubscriber extends RequestObserver, EndpointObserver {
  /** Its `onAnswered` is called where answers are read anyway, and is no reason to read them. */
  readonly answersOptional?: boolean;
  /** Once for each decision, before its reservation: the state is what the scheduler saw. */
  onDecision?(event: DecisionEvent): void;
  /** The answer is a stream of events, for which the request does not ask. */
  onStream?(routed: Routed): void;
  /** A further piece of a stream has come, after the one with the first token. */
  onToken?(routed: Routed, at: Millis): void;
  /** The proxy reports the address, `host:port`, that it really used. */
  onServed?(routed: Routed, address: string, at: Millis): void;
  /**
   * The response or its stream has ended. `onDone` follows at once, or later where the end of the
   * response is not seen and has to be predicted.
   */
  onEnded?(
    routed: Routed,
    at: Millis,
    outcome: Outcome,
    usage: Usage | undefined,
    responseBytes?: number,
    status?: number,
  ): void;
  /** A request without a body has gone to this endpoint. No other call follows. */
  onPassed?(request: InferenceRequest, endpoint: Endpoint): void;
  /** A request has waited for what its decision needs, such as tokens. */
  onPrepared?(request: InferenceRequest, preparedMs: Millis): void;
  /** The client of a request that waited for its endpoint has left. No other call follows. */
  onLeft?(request: InferenceRequest, waitedMs: Millis): void;
  /** A numbered timer fires: see `EventClock`. */
  onTimer?(timer: number, at: Millis): void;
  /**
   * Another configuration decides from now on, but for `undecided` requests that the one before, or
   * its challenger, has begun to prepare.
   */
  onAdopted?(plan: PickerPlan, at: Millis, undecided: number): void;
  /**
   * Another configuration decides some requests from now on; `decidedBy` has its name. `undecided`
   * counts as for `onAdopted`.
   */
  onChallenged?(plan: PickerPlan, name: string, at: Millis, undecided: number): void;
  /** It decides no more. Where a configuration is adopted, `onAdopted` alone says so. */
  onWithdrawn?(at: Millis, undecided: number): void;
}

/**
 * Publishes to the subscribers. One that throws is reported; the others are called all the same.
 */
export class Journal {
  readonly subscribers: readonly JournalSubscriber[];
  readonly #faults: PluginFaults;

  constructor(subscribers: readonly JournalSubscriber[], faults: PluginFaults) {
    this.subscribers = subscribers;
    this.#faults = faults;
    for (const subscriber of subscribers) {
      faults.identify(subscriber, { kind: 'subscriber', name: typeNameOf(subscriber) });
    }
  }

  decided(event: DecisionEvent): void {
    for (const subscriber of this.subscribers) {
      try {
        subscriber.onDecision?.(event);
      } catch (error) {
        this.#faults.report(subscriber, 'onDecision', error);
      }
    }
  }

  prepared(request: InferenceRequest, preparedMs: Millis): void {
    this.#publish('onPrepared', (subscriber) => subscriber.onPrepared?.(request, preparedMs));
  }

  passed(request: InferenceRequest, endpoint: Endpoint): void {
    this.#publish('onPassed', (subscriber) => subscriber.onPassed?.(request, endpoint));
  }

  left(request: InferenceRequest, waitedMs: Millis): void {
    this.#publish('onLeft', (subscriber) => subscriber.onLeft?.(request, waitedMs));
  }

  timerFired(timer: number, at: Millis): void {
    this.#publish('onTimer', (subscriber) => subscriber.onTimer?.(timer, at));
  }

  adopted(plan: PickerPlan, at: Millis, undecided: number): void {
    this.#publish('onAdopted', (subscriber) => subscriber.onAdopted?.(plan, at, undecided));
  }

  challenged(plan: PickerPlan, name: string, at: Millis, undecided: number): void {
    this.#publish('onChallenged', (subscriber) =>
      subscriber.onChallenged?.(plan, name, at, undecided),
    );
  }

  withdrawn(at: Millis, undecided: number): void {
    this.#publish('onWithdrawn', (subscriber) => subscriber.onWithdrawn?.(at, undecided));
  }

  #publish(call: string, to: (subscriber: JournalSubscriber) => void): void {
    for (const subscriber of this.subscribers) {
      try {
        to(subscriber);
      } catch (error) {
        this.#faults.report(subscriber, call, error);
      }
    }
  }
}
