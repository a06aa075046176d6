import type { EndpointId } from '../../../framework/endpoint.ts';
import type { EndpointPool, EndpointSpec } from '../../../picker/pool/endpoint-pool.ts';

export type EndpointSink = Pick<EndpointPool, 'upsert' | 'remove'>;

/** Ten times the largest pool that is measured: a decision looks at each of them. */
export const CLUSTER_ENDPOINTS_MAX = 10_000;

/**
 * Holds endpoints back from a pool until `release`, and then passes every change on. Those beyond a
 * bound wait until others leave, so that none that serves has to go for a new one.
 */
export class HeldEndpoints implements EndpointSink {
  readonly #pool: EndpointSink;
  readonly #max: number;
  readonly #onFull: (full: boolean) => void;
  #released = false;
  #full = false;
  readonly #passed = new Set<EndpointId>();
  readonly #held = new Map<EndpointId, EndpointSpec>();

  /** `onFull` is called when the first has to wait for room, and when none waits any more. */
  constructor(
    pool: EndpointSink,
    onFull: (full: boolean) => void = () => undefined,
    max: number = CLUSTER_ENDPOINTS_MAX,
  ) {
    this.#pool = pool;
    this.#onFull = onFull;
    this.#max = max;
  }

  upsert(spec: EndpointSpec): void {
    if (this.#released && (this.#passed.has(spec.id) || this.#passed.size < this.#max)) {
      this.#pass(spec);
      return;
    }
    this.#held.set(spec.id, spec);
    this.#noteFull();
  }

  remove(id: EndpointId): void {
    if (this.#passed.delete(id)) {
      this.#pool.remove(id);
      this.#fill();
    } else {
      this.#held.delete(id);
    }
    this.#noteFull();
  }

  release(): void {
    this.#released = true;
    this.#fill();
    this.#noteFull();
  }

  #fill(): void {
    for (const [id, spec] of this.#held) {
      if (this.#passed.size >= this.#max) return;
      this.#held.delete(id);
      this.#pass(spec);
    }
  }

  #noteFull(): void {
    const full = this.#released && this.#held.size > 0;
    if (full === this.#full) return;
    this.#full = full;
    this.#onFull(full);
  }

  #pass(spec: EndpointSpec): void {
    this.#passed.add(spec.id);
    this.#pool.upsert(spec);
  }
}
