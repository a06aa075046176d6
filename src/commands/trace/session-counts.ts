import type { TraceRequest } from '../../lab/traces/trace.ts';
import { type Spread, SpreadCounts } from './spread.ts';

export interface Sessions {
  /** Named by the trace, or found: a prompt that continues an earlier one is its next turn. */
  readonly by: 'trace' | 'prompts';
  readonly count: number;
  /** Those with more than one request. */
  readonly ofSeveral: number;
  /** Requests of a session. */
  readonly turns: Spread;
}

/** Counts the requests of sessions that are named, and of those that are found. */
export class SessionCounts {
  readonly #named = new Map<string, number>();
  /** By the place of a session's first request. */
  readonly #found: Uint32Array;

  constructor(requests: number) {
    this.#found = new Uint32Array(requests);
  }

  /** `found`: the place of the first request of its session, if the prompts alone count. */
  add({ session }: TraceRequest, found: number): void {
    if (session !== undefined) this.#named.set(session, (this.#named.get(session) ?? 0) + 1);
    this.#found[found] = (this.#found[found] ?? 0) + 1;
  }

  /** Undefined where the trace names none and none can be found. */
  sessions(hasBlocks: boolean): Sessions | undefined {
    if (this.#named.size > 0) return sessionsOf('trace', this.#named.values());
    return hasBlocks ? sessionsOf('prompts', this.#found) : undefined;
  }
}

/** A count of 0 is no session. */
function sessionsOf(by: Sessions['by'], counts: Iterable<number>): Sessions | undefined {
  const values = new SpreadCounts();
  let ofSeveral = 0;
  for (const count of counts) {
    if (count > 0) values.add(count);
    if (count > 1) ofSeveral += 1;
  }
  const turns = values.spread();
  return turns && { by, count: turns.count, ofSeveral, turns };
}
