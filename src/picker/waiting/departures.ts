import type { Waiting } from '../../flow/discipline.ts';
import { RoutingError } from '../../framework/error.ts';
import type { RoutedRequest, RouteOptions, Waited } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecidedCycle } from '../cycles/cycle.ts';
import type { HeldRequest } from './held-request.ts';

export interface DepartureOptions {
  /**
   * Places by what was decided in this event, or decides again where that does not hold any more.
   * Throws what `route` throws.
   */
  readonly placeOrDecideAgain: (cycle: DecidedCycle) => RoutedRequest;
  readonly route: (waiting: Waiting, options: RouteOptions) => RoutedRequest;
  /** Publishes the decision as refused, and returns what to throw. */
  readonly refused: (cycle: DecidedCycle, error: RoutingError) => unknown;
  /** A placement has thrown. */
  readonly onError: (error: unknown) => void;
}

/** What clients of requests read that still wait when the picker ends. */
export const PICKER_ENDS = 'the picker ends; try another one';

/** How requests leave the waiting room: each placement is called once, with all that is known. */
export class Departures {
  readonly #options: DepartureOptions;
  readonly #forget: (held: HeldRequest) => void;

  /** `forget` takes the request out of the room, before its placement is called. */
  constructor(options: DepartureOptions, forget: (held: HeldRequest) => void) {
    this.#options = options;
    this.#forget = forget;
  }

  /**
   * Places it by what was decided in this event. Where nothing could be decided, `route` decides,
   * and its placement gets what that throws.
   */
  place(held: HeldRequest, cycle: DecidedCycle | undefined, at: Millis): void {
    const { placeOrDecideAgain, route } = this.#options;
    this.#leave(held, at, (options) => {
      if (cycle === undefined) return route(held.waiting, options);
      cycle.options = options;
      return placeOrDecideAgain(cycle);
    });
  }

  /** It has waited for as long as is allowed. */
  refuse(held: HeldRequest, cycle: DecidedCycle, at: Millis): void {
    const seconds = Math.round((at - held.waiting.since) / 1000);
    const sentence = `no endpoint could begin the request in ${seconds} s, and it may wait no longer`;
    this.#leave(held, at, (options) => {
      cycle.options = options;
      throw this.#options.refused(cycle, new RoutingError('queue-timeout', sentence));
    });
  }

  /** The picker ends. No decision was made that could be published. */
  end(held: HeldRequest, at: Millis): void {
    this.#leave(held, at, () => {
      throw new RoutingError('shutting-down', PICKER_ENDS);
    });
  }

  #leave(held: HeldRequest, at: Millis, outcome: (options: RouteOptions) => RoutedRequest): void {
    const { waiting, target, arrival, options } = held;
    this.#forget(held);
    const waited: Waited = {
      heldMs: at - waiting.since,
      endpoint: target?.load.endpoint.id,
      cachedTokens: waiting.request.promptTokens - (target?.load.prefillTokens ?? 0),
    };
    try {
      let routed: RoutedRequest;
      try {
        routed = outcome({ ...options, waited });
      } catch (error) {
        arrival.refused(error);
        return;
      }
      arrival.placed(routed);
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
