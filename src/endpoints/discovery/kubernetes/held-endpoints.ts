import type { EndpointId } from '../../../framework/endpoint.ts';
import type { EndpointPool, EndpointSpec } from '../../../picker/endpoint-pool.ts';

/** What endpoints are written to. */
export type EndpointSink = Pick<EndpointPool, 'upsert' | 'remove'>;

/** Keeps endpoints from a pool until it is released, and then passes everything on. */
export class HeldEndpoints implements EndpointSink {
  readonly #pool: EndpointSink;
  #held: Map<EndpointId, EndpointSpec> | undefined = new Map();

  constructor(pool: EndpointSink) {
    this.#pool = pool;
  }

  upsert(spec: EndpointSpec): void {
    if (this.#held === undefined) this.#pool.upsert(spec);
    else this.#held.set(spec.id, spec);
  }

  remove(id: EndpointId): void {
    if (this.#held === undefined) this.#pool.remove(id);
    else this.#held.delete(id);
  }

  /** From now on the pool has what was written here. Once. */
  release(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const spec of held?.values() ?? []) this.#pool.upsert(spec);
  }
}
