import type { RoutingError } from '../../framework/error.ts';
import type { Router } from '../../framework/routing.ts';
import type { ReadRequest } from './read-request.ts';

/** How a session goes on after a wait. */
export interface AfterWait {
  /** Makes the pick. */
  readonly go: () => void;
  /** Runs it, unless the session is over; what it throws refuses the request. */
  readonly resume: (run: () => void) => void;
}

/** Has the router prepare the pick. Returns whether the request has to wait; `go` follows then. */
export function prepareRead(
  prepare: NonNullable<Router['prepare']>,
  { request, body }: ReadRequest,
  subset: readonly string[] | undefined,
  { go, resume }: AfterWait,
): boolean {
  const refuse = (error: RoutingError): void =>
    resume(() => {
      throw error;
    });
  return prepare(request, body, () => resume(go), { subset, refuse });
}
