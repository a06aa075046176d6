import type { Endpoint } from '../../framework/endpoint.ts';
import { ENGINE_COUNT } from '../../framework/endpoint-attributes.ts';
import type { EndpointObserver } from '../../framework/observer.ts';

/** How many engines each endpoint has: every request that waits asks for it at every look. */
export class EngineCounts implements EndpointObserver {
  /** By slot. */
  readonly #counts: number[] = [];

  onEndpointAdded(endpoint: Endpoint): void {
    this.#counts[endpoint.slot] = endpoint.attribute(ENGINE_COUNT);
  }

  onEndpointChanged(endpoint: Endpoint): void {
    this.#counts[endpoint.slot] = endpoint.attribute(ENGINE_COUNT);
  }

  of({ slot }: Endpoint): number {
    return this.#counts[slot] ?? ENGINE_COUNT.initial;
  }
}

/**
 * So many prompts are sent, in the mean, until each of so many engines has one: the server does not
 * know which of them has none, because it counts answers under way with prompts (the coupon
 * collector's problem).
 */
export function promptsForAll(engines: number): number {
  let sum = 0;
  for (let left = 1; left <= engines; left++) sum += engines / left;
  return sum;
}
