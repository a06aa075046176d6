import { RequestTable } from './request-table.ts';
import { NumberColumn } from './table/number-column.ts';
import { PrefixWalk } from './table/prefix-walk.ts';
import type { Trace, TraceRequest } from './trace.ts';

/** A single common block may be a system prompt, which does not make a conversation. */
const BLOCKS_MIN = 2;

/** What a prompt has in common with earlier ones. */
interface FoundTurn {
  /** The first request of its conversation, as the number of requests before it. */
  readonly session: number;
  /** How many of its first blocks an earlier prompt began with, too. */
  readonly knownBlocks: number;
}

/**
 * Finds conversations in the order of arrival: a prompt that contains the whole of an earlier prompt
 * and more is the next turn of its conversation.
 */
export class SessionFinder {
  readonly #table: RequestTable;
  readonly #walk: PrefixWalk;
  /** For each node at which a conversation ends so far, one more than its session; 0 for none. */
  readonly #session = new NumberColumn(Uint32Array);
  readonly #promptTokens = new NumberColumn(Uint32Array);
  #requests = 0;

  constructor(table: RequestTable) {
    this.#table = table;
    this.#walk = new PrefixWalk(table.tree);
  }

  /** How many different beginnings of prompts there were, counted in blocks. */
  get distinctBlocks(): number {
    return this.#walk.distinctBlocks;
  }

  /** Compares the next request of the table with those before it. */
  next({ promptTokens }: Pick<TraceRequest, 'promptTokens'>): FoundTurn {
    const place = this.#requests++;
    const { nodes, ends, knownBlocks } = this.#walk.next(this.#table.nodeAt(place));
    const before = nodes.findLast(
      (node, at) =>
        (ends[at] as number) >= BLOCKS_MIN &&
        this.#session.get(node) > 0 &&
        this.#promptTokens.get(node) < promptTokens,
    );
    const session = before === undefined ? place : this.#session.get(before) - 1;
    if (before !== undefined) this.#session.set(before, 0);
    const last = nodes.at(-1);
    if (last !== undefined) {
      this.#session.set(last, session + 1);
      this.#promptTokens.set(last, promptTokens);
    }
    return { session, knownBlocks };
  }
}

/** The same trace with a session for each request; found where the trace names none. */
export function withSessions(trace: Trace): Trace {
  const table = new RequestTable();
  // Others cannot continue a request that has a session.
  for (const each of trace.requests) {
    table.add(each.session === undefined ? each : { ...each, blockIds: [] });
  }
  const finder = new SessionFinder(table);
  const requests = trace.requests.map((request): TraceRequest => {
    const { session } = finder.next(request);
    return request.session === undefined ? { ...request, session: `~${session}` } : request;
  });
  return { ...trace, requests };
}
