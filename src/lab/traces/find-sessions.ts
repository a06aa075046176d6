import { prefixKeys } from './prefix-keys.ts';
import type { Trace, TraceRequest } from './trace.ts';

/** A single common block may be a system prompt, which does not make a conversation. */
const BLOCKS_MIN = 2;

/**
 * The same trace with a session for each request. Where the trace names none, a prompt that
 * contains the whole of an earlier prompt and more is the next turn of its conversation.
 */
export function withSessions(trace: Trace): Trace {
  /** By the key of the last block of each conversation so far. */
  const ends = new Map<number, { readonly session: string; readonly promptTokens: number }>();
  const requests = trace.requests.map((request, index): TraceRequest => {
    if (request.session !== undefined) return request;
    const blocks = prefixKeys(request);
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
