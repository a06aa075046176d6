import type { Waiting } from '../../flow/discipline.ts';
import type { FairShares } from '../../flow/fair-shares.ts';
import type { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { KeptRequest } from './kept-request.ts';

/** The requests that flow control keeps waiting, and the errors of those that it has dropped. */
export class KeptRequests {
  /** The oldest first. */
  readonly #kept = new Map<Waiting, KeptRequest>();
  readonly #byId = new Map<string, KeptRequest>();
  /** What `route` throws for requests that were dropped, by id. */
  readonly #dropped = new Map<string, RoutingError>();
  /** Requests so far: all that came to wait, and those that went on. */
  #came = 0;
  #placed = 0;
  readonly #shares: () => Pick<FairShares, 'waits' | 'leaves'>;

  /** `shares` counts each request from when it waits until it leaves. */
  constructor(shares: () => Pick<FairShares, 'waits' | 'leaves'>) {
    this.#shares = shares;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Requests so far that left without a decision: refused, or their clients gone. */
  get undecided(): number {
    return this.#came - this.#placed - this.#kept.size;
  }

  /** Dropped, and `route` has not thrown the error yet. */
  get droppedSize(): number {
    return this.#dropped.size;
  }

  /** All that wait, the oldest first. */
  get waiting(): Iterable<Waiting> {
    return this.#kept.keys();
  }

  values(): Iterable<KeptRequest> {
    return this.#kept.values();
  }

  of(waiting: Waiting): KeptRequest | undefined {
    return this.#kept.get(waiting);
  }

  ofRequest({ id }: InferenceRequest): KeptRequest | undefined {
    return this.#byId.get(id);
  }

  /** By our own id or `x-request-id`. */
  find(id: string): KeptRequest | undefined {
    for (const kept of this.#kept.values()) {
      const { request } = kept.waiting;
      if (request.id === id || request.headers.get('x-request-id') === id) return kept;
    }
    return undefined;
  }

  /** A request has come to wait. It may be refused before `add` is called. */
  countArrival(): void {
    this.#came += 1;
  }

  add(kept: KeptRequest): void {
    this.#kept.set(kept.waiting, kept);
    this.#byId.set(kept.waiting.request.id, kept);
    this.#shares().waits(kept.share, kept.waiting.request);
  }

  /** It goes on to the picker. */
  placed(kept: KeptRequest): void {
    this.#forget(kept);
    kept.placed();
    this.#placed += 1;
  }

  /** Its client is gone. */
  abandon(kept: KeptRequest): void {
    this.#forget(kept);
    kept.gone();
  }

  /**
   * It is refused: its stream asks `route`, which throws the error, at once or from another thread,
   * unless the stream ends before: `forgetError`.
   */
  drop(kept: KeptRequest, error: RoutingError): void {
    const { id } = kept.waiting.request;
    const { isNew } = kept;
    this.#forget(kept);
    kept.gone();
    this.#dropped.set(id, error);
    if (!isNew) kept.ready();
  }

  /** The stream of a request that may have been dropped is over: it asks no more. */
  forgetError({ id }: InferenceRequest): void {
    this.#dropped.delete(id);
  }

  isDropped({ id }: InferenceRequest): boolean {
    return this.#dropped.has(id);
  }

  /** The error of a request that was dropped; once. */
  takeError({ id }: InferenceRequest): RoutingError | undefined {
    const error = this.#dropped.get(id);
    if (error !== undefined) this.#dropped.delete(id);
    return error;
  }

  #forget({ waiting, share }: KeptRequest): void {
    if (!this.#kept.delete(waiting)) return;
    this.#byId.delete(waiting.request.id);
    this.#shares().leaves(share, waiting.request);
  }
}
