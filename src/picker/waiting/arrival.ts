import type { Placement, RoutedRequest } from '../../framework/routing.ts';

/**
 * The placement of a request for as long as the call lasts that brings it. Time passes within that
 * call, too, so that its endpoint may have room before the call returns; and a caller that is told
 * before it knows that the request waits would wait for ever.
 */
export class Arrival implements Placement {
  readonly #placement: Placement;
  #hasReturned = false;
  #outcome: (() => RoutedRequest) | undefined;

  constructor(placement: Placement) {
    this.#placement = placement;
  }

  placed(routed: RoutedRequest): void {
    if (this.#hasReturned) this.#placement.placed(routed);
    else this.#outcome = () => routed;
  }

  refused(error: unknown): void {
    if (this.#hasReturned) {
      this.#placement.refused(error);
      return;
    }
    this.#outcome = () => {
      throw error;
    };
  }

  /**
   * To be called last in the call. Undefined where the request waits: its placement is told later.
   * Throws what the request is refused with.
   */
  returns(): RoutedRequest | undefined {
    this.#hasReturned = true;
    return this.#outcome?.();
  }
}
