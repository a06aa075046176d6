import type { Waiting } from '../../flow/discipline.ts';
import type { FairShares } from '../../flow/fair-shares.ts';
import type { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Held } from './controlled-picker.ts';

/** The requests that flow control keeps waiting, and the errors of those that it has dropped. */
export class KeptRequests {
  /** The oldest first. */
  readonly #held = new Map<Waiting, Held>();
  readonly #byId = new Map<string, Held>();
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
    return this.#held.size;
  }

  /** Requests so far that left without a decision: refused, or their clients gone. */
  get undecided(): number {
    return this.#came - this.#placed - this.#held.size;
  }

  /** Dropped, and `route` has not thrown the error yet. */
  get droppedSize(): number {
    return this.#dropped.size;
  }

  /** All that wait, the oldest first. */
  get waiting(): Iterable<Waiting> {
    return this.#held.keys();
  }

  values(): Iterable<Held> {
    return this.#held.values();
  }

  of(waiting: Waiting): Held | undefined {
    return this.#held.get(waiting);
  }

  ofRequest({ id }: InferenceRequest): Held | undefined {
    return this.#byId.get(id);
  }

  /** A request has come to wait. It may be refused before `add` is called. */
  comes(): void {
    this.#came += 1;
  }

  add(held: Held): void {
    this.#held.set(held.waiting, held);
    this.#byId.set(held.waiting.request.id, held);
    this.#shares().waits(held.share, held.waiting.request);
  }

  /** It goes on to the picker. */
  placed(held: Held): void {
    this.forget(held);
    this.#placed += 1;
  }

  forget({ waiting, share }: Held): void {
    if (!this.#held.delete(waiting)) return;
    this.#byId.delete(waiting.request.id);
    this.#shares().leaves(share, waiting.request);
  }

  /** It is refused: its stream asks `route`, which throws the error. */
  drop(held: Held, error: RoutingError): void {
    const { id } = held.waiting.request;
    this.forget(held);
    const isNew = held.state === 'new';
    held.state = 'gone';
    this.#dropped.set(id, error);
    if (isNew) return;
    held.ready();
    // The stream may have ended in the meantime.
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
}
