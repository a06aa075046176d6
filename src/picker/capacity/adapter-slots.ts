import type { Endpoint } from '../../framework/endpoint.ts';
import { LORA } from '../../framework/endpoint-attributes.ts';
import type { AdapterNames } from '../engine-model/adapter-names.ts';
import type { Ledger } from '../load/ledger.ts';

/** Says which endpoints have a slot for the adapter of a request, by what is in flight there. */
export class AdapterSlots {
  readonly #ledger: Pick<Ledger, 'models'>;
  readonly #adapters: Pick<AdapterNames, 'has'>;

  constructor(ledger: Pick<Ledger, 'models'>, adapters: Pick<AdapterNames, 'has'>) {
    this.#ledger = ledger;
    this.#adapters = adapters;
  }

  /** The model where it is an adapter that needs one of the endpoint's slots; else undefined. */
  adapterAt(endpoint: Endpoint, model: string): string | undefined {
    const { max = 0 } = endpoint.attribute(LORA) ?? {};
    return max > 0 && this.#adapters.has(model) ? model : undefined;
  }

  /** Whether a request with this adapter can run beside the requests in flight. */
  hasRoom(endpoint: Endpoint, adapter: string): boolean {
    const models = this.#ledger.models(endpoint);
    const { max = Number.POSITIVE_INFINITY } = endpoint.attribute(LORA) ?? {};
    if (models.has(adapter) || models.size < max) return true;
    let used = 0;
    for (const model of models.keys()) if (this.#adapters.has(model)) used += 1;
    return used < max;
  }
}
