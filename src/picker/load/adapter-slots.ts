import { LORA } from '../../framework/attributes.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import type { EndpointObserver } from '../../framework/observer.ts';
import type { Ledger } from './ledger.ts';

/** More names than the adapters that servers of one pool use at a time. */
const NAMES_MAX = 10_000;

/** Says which endpoints have a slot for the adapter of a request, by what is in flight there. */
export class AdapterSlots implements EndpointObserver {
  readonly #ledger: Pick<Ledger, 'models'>;
  /**
   * Models that some endpoint has reported as adapters, the one that was reported last at the end.
   */
  readonly #names = new Set<string>();

  constructor(ledger: Pick<Ledger, 'models'>) {
    this.#ledger = ledger;
  }

  onEndpointChanged(endpoint: Endpoint, previous: Endpoint): void {
    const lora = endpoint.attribute(LORA);
    if (lora === undefined || lora === previous.attribute(LORA)) return;
    for (const name of lora.running) this.#remember(name);
    for (const name of lora.waiting) this.#remember(name);
  }

  /** The model where it is an adapter that needs one of the endpoint's slots; else undefined. */
  adapterAt(endpoint: Endpoint, model: string): string | undefined {
    const { max = 0 } = endpoint.attribute(LORA) ?? {};
    return max > 0 && this.#names.has(model) ? model : undefined;
  }

  /** Whether a request with this adapter can run beside the requests in flight. */
  hasRoom(endpoint: Endpoint, adapter: string): boolean {
    const models = this.#ledger.models(endpoint);
    const { max = Number.POSITIVE_INFINITY } = endpoint.attribute(LORA) ?? {};
    if (models.has(adapter) || models.size < max) return true;
    let used = 0;
    for (const model of models.keys()) if (this.#names.has(model)) used += 1;
    return used < max;
  }

  #remember(name: string): void {
    this.#names.delete(name);
    this.#names.add(name);
    if (this.#names.size <= NAMES_MAX) return;
    const [oldest = ''] = this.#names;
    this.#names.delete(oldest);
  }
}
