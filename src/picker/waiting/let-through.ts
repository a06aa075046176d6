import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { PrepareOptions } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';

interface Passed extends Pick<PrepareOptions, 'refuse'> {
  readonly waitedMs: Millis;
}

/** The requests that flow control has let go on, by id, until each of them has ended. */
export class LetThrough {
  /** The requests that the ledger does not have yet, with the time that each has waited. */
  readonly unrouted: Map<string, Millis> = new Map();
  readonly #refusals = new Map<string, Passed['refuse']>();

  add({ id }: InferenceRequest, { refuse, waitedMs }: Passed): void {
    this.#refusals.set(id, refuse);
    this.unrouted.set(id, waitedMs);
  }

  /** Undefined where it was not let through, or is routed already. */
  waitedMs({ id }: InferenceRequest): Millis | undefined {
    return this.unrouted.get(id);
  }

  /** The ledger has it, or never will. Returns whether it was not so before. */
  routed({ id }: InferenceRequest): boolean {
    return this.unrouted.delete(id);
  }

  /** Returns false where it was not let through, or has ended already. */
  ended({ id }: InferenceRequest): boolean {
    return this.#refusals.delete(id);
  }

  /** Ends it with an answer to its client. */
  evict({ id, priority }: InferenceRequest): void {
    const sentence = `requests of a higher priority than ${priority} need the room of this one`;
    const error = new RoutingError('evicted', `the request was ended: ${sentence}`);
    this.#refusals.get(id)?.(error);
  }
}
