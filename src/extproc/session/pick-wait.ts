import type { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Placement, RoutedRequest, Router } from '../../framework/routing.ts';
import type { ReadRequest } from './read-request.ts';

/** What a session does when a wait is over. */
export interface AfterWait {
  /** Runs what follows a wait, unless the session is over; what it throws refuses the request. */
  readonly resume: (go: () => void) => void;
  readonly pick: (read: ReadRequest) => void;
  readonly answer: (routed: RoutedRequest, read: ReadRequest) => void;
}

/** The waits of one request: for what its pick needs, and for an endpoint that can begin it. */
export class PickWait implements Placement {
  readonly #router: Router;
  readonly #after: AfterWait;
  /** The request whose pick waits for something. */
  #preparing: InferenceRequest | undefined;
  #held: ReadRequest | undefined;

  constructor(router: Router, after: AfterWait) {
    this.#router = router;
    this.#after = after;
  }

  get waits(): boolean {
    return this.#preparing !== undefined || this.#held !== undefined;
  }

  /** Whether something has to be prepared for the pick; it is made later then. */
  prepares(read: ReadRequest, subset: readonly string[] | undefined): boolean {
    read.head.followed?.bodyRead(read.request);
    const { prepare } = this.#router;
    if (prepare === undefined) return false;
    const go = (): void => {
      this.#preparing = undefined;
      this.#after.pick(read);
    };
    const { request, body } = read;
    const { resume } = this.#after;
    const refuse = (error: RoutingError): void => resume(() => fail(error));
    const waits = prepare(request, body, () => resume(go), { subset, refuse });
    this.#preparing = waits ? read.request : undefined;
    return waits;
  }

  /** The router keeps the request until an endpoint can begin it. */
  hold(read: ReadRequest): void {
    this.#held = read;
  }

  /** The session is over, or the request is refused: nothing is to be placed any more. */
  cancel(): void {
    if (this.#preparing !== undefined) this.#router.abandon?.(this.#preparing);
    if (this.#held === undefined) return;
    this.#held = undefined;
    this.#router.cancel?.(this);
  }

  placed(routed: RoutedRequest): void {
    const read = this.#held;
    this.#held = undefined;
    if (read === undefined) routed.done('aborted');
    else this.#after.resume(() => this.#after.answer(routed, read));
  }

  refused(error: unknown): void {
    this.#held = undefined;
    this.#after.resume(() => fail(error));
  }
}

function fail(error: unknown): never {
  throw error;
}
