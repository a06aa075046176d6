import type { Endpoint } from '../../framework/endpoint.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';
import type { EndpointObserver } from '../../framework/observer.ts';

/** More names than the adapters that servers of one pool use at a time. */
const NAMES_MAX = 10_000;

/**
 * Models that some endpoint has reported as adapters. Servers that can have adapters report them
 * also while all requests are for the model itself, which needs none.
 */
export class AdapterNames implements EndpointObserver {
  /** The one that was reported last at the end. */
  readonly #names = new Set<string>();

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    const lora = endpoint.attribute(LORA);
    if (lora === undefined || lora === previous.attribute(LORA)) return;
    for (const name of lora.running) this.#remember(name);
    for (const name of lora.waiting) this.#remember(name);
  }

  has(model: string): boolean {
    return this.#names.has(model);
  }

  #remember(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size <= NAMES_MAX) return;
    const [oldest = ''] = this.#names;
    this.#names.delete(oldest);
  }
}
