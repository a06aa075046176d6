import type { EndpointId } from '../../../framework/endpoint.ts';
import type { EndpointSink, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';

/** The endpoints of a list that are in the pool. */
export class AppliedList {
  readonly #pool: EndpointSink;
  readonly #addresses = new Map<EndpointId, string>();
  readonly #owners = new Map<string, EndpointId>();

  constructor(pool: EndpointSink) {
    this.#pool = pool;
  }

  get size(): number {
    return this.#addresses.size;
  }

  /**
   * Makes the pool another list, one endpoint a step, so that requests can be decided between
   * steps: new endpoints come before others go, so that the pool is never much smaller than both
   * lists, and at no time two endpoints have one address.
   */
  *change(specs: readonly EndpointSpec[]): Generator<void> {
    for (const spec of specs) {
      this.#put(spec);
      yield;
    }
    const listed = new Set(specs.map(({ id }) => id));
    for (const id of this.#addresses.keys()) {
      if (listed.has(id)) continue;
      this.#remove(id);
      yield;
    }
  }

  #put(spec: EndpointSpec): void {
    const { id, address } = spec;
    const owner = this.#owners.get(address);
    // It goes, or moves to another address in a step of its own.
    if (owner !== undefined && owner !== id) this.#remove(owner);
    const before = this.#addresses.get(id);
    if (before !== undefined && before !== address) this.#owners.delete(before);
    this.#pool.upsert(spec);
    this.#addresses.set(id, address);
    this.#owners.set(address, id);
  }

  #remove(id: EndpointId): void {
    const address = this.#addresses.get(id);
    if (address === undefined) return;
    this.#pool.remove(id);
    this.#addresses.delete(id);
    this.#owners.delete(address);
  }
}
