import type { Placement, RoutedRequest } from '../../framework/routing.ts';

/**
 * The placement of a request that waits. It keeps what becomes of the request until the call that
 * brought the request returns, and then gives it as the result of that call: time passes within the
 * call, too, so its endpoint may have room before the call returns, and the caller does not know yet
 * that the request waits.
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
   * To be called last in the call. Undefined where the request waits: its placement is called later.
   * Throws what the request is refused with.
   */
  returns(): RoutedRequest | undefined {
    this.#hasReturned = true;
    return this.#outcome?.();
  }
}
