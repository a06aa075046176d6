import type { EndpointId } from '../../../framework/endpoint.ts';
import type { EndpointPool, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';

export type EndpointSink = Pick<EndpointPool, 'upsert' | 'remove'>;

/** Holds endpoints back from a pool until `release`, and then passes every change on. */
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

  release(): void {
    const held = this.#held;
    this.#held = undefined;
    for (const spec of held?.values() ?? []) this.#pool.upsert(spec);
  }
}
