import type { RoutingError } from '../framework/error.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { FirstBand } from '../framework/routing.ts';
import type { Millis } from '../framework/runtime.ts';

/** A request that waits at the picker. The same object is passed to all calls about it. */
export interface Waiting {
  readonly request: InferenceRequest;
  /** When it came to the queue. */
  readonly since: Millis;
  /** The size of its body, which is kept meanwhile. */
  readonly bytes: number;
  /** How many endpoints could serve it when it came; 0 while a pool is scaled to zero. */
  readonly candidates: number;
}

/** A request that leaves the queue without an endpoint, and what its client gets. */
export interface Dropped {
  readonly waiting: Waiting;
  readonly error: RoutingError;
}

/** Requests that may be placed now. A group is served before the groups behind it. */
export interface ReadyGroup {
  /** In the order in which they are placed. */
  readonly requests: Iterable<Waiting>;
}

/** What an answered request has used. */
export interface Served {
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly latencyMs: Millis;
}

/**
 * Decides which waiting requests may be placed, in which order, and which are refused. Each picker
 * has one. It is pure: time is an argument, and it learns only from the calls below.
 */
export interface QueueDiscipline {
  /**
   * Takes a request in. Throws RoutingError `saturated` where a limit is reached: nothing has
   * changed.
   */
  add(waiting: Waiting, at: Millis): void;
  /** The request has left without being placed: its client is gone. */
  remove(waiting: Waiting, at: Millis): void;
  /** The groups that may be placed now, first things first. Changes nothing. */
  ready(at: Millis): Iterable<ReadyGroup>;
  /** Takes out and returns the requests whose time is over. */
  expired(at: Millis): readonly Dropped[];
  /** The request has an endpoint and has left the queue. */
  placed(waiting: Waiting, at: Millis): void;
  /**
   * It is replaced, or flow control is switched off: it forgets all that waits, and is not called
   * again.
   */
  replaced(): void;
  /** A request that was placed has ended. */
  ended(request: InferenceRequest, served: Served, at: Millis): void;
  /** Undefined where nothing waits. */
  readonly firstBand?: FirstBand | undefined;
  /** Whether requests wait because nothing may be placed, by the last look. */
  readonly isHoldingBack?: boolean | undefined;
  /** Another replica has placed a request, which may have waited there. */
  placedElsewhere?(request: InferenceRequest, at: Millis): void;
  /** A request that another replica placed has ended. */
  endedElsewhere?(request: InferenceRequest, served: Served, at: Millis): void;
  /**
   * Names requests in flight that have to end now, so that others can be placed. The caller ends
   * them; one that was named is not named again.
   */
  evict?(at: Millis): readonly InferenceRequest[];
}
