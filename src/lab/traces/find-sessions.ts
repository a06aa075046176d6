import { PrefixNumbers } from './prefix-numbers.ts';
import type { Trace, TraceRequest } from './trace.ts';

/** What many prompts begin with, such as a system prompt, fills a block or so: one alone tells no conversation. */
const BLOCKS_MIN = 2;

/**
 * The same trace with a session for each conversation: as the trace says, and where it says nothing, a prompt that holds
 * the whole of another before it, and more, is the turn after that one.
 */
export function withSessions(trace: Trace): Trace {
  const prefixes = new PrefixNumbers();
  /** The conversation that has come as far as a block, and no further. */
  const ends = new Map<number, { readonly session: string; readonly promptTokens: number }>();
  const requests = trace.requests.map((request, index): TraceRequest => {
    if (request.session !== undefined) return request;
    const blocks = prefixes.of(request);
    const { promptTokens } = request;
    const before = blocks.findLast(
      (block, place) =>
        place + 1 >= BLOCKS_MIN && (ends.get(block)?.promptTokens ?? promptTokens) < promptTokens,
    );
    const session = (before === undefined ? undefined : ends.get(before)?.session) ?? `~${index}`;
    if (before !== undefined) ends.delete(before);
    const last = blocks.at(-1);
    if (last !== undefined) ends.set(last, { session, promptTokens });
    return { ...request, session };
  });
  return { ...trace, requests };
}
