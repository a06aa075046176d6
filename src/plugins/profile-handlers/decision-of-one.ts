import { invariant } from '../../framework/error.ts';
import type { Decision, ProfileResult } from '../../framework/scheduling.ts';

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/** The decision of a handler that runs one profile and adds nothing to what it has picked. */
export function decisionOfOne(done: readonly ProfileResult[]): Decision {
  const [primary] = done;
  invariant(primary !== undefined, 'concluded before the profile ran');
  return { primary, headers: NO_HEADERS, profiles: done };
}
