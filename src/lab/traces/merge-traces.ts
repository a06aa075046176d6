import { ConfigError } from '../../framework/error.ts';
import { inBlocksOf } from './prefix-numbers.ts';
import type { Trace, TraceContent, TraceRequest } from './trace.ts';
import { REQUESTS_MAX } from './trace-format.ts';

/**
 * The requests of all traces, with those after the first `shiftMs` later, or earlier if negative.
 * Prompts and sessions of different traces stay different. Throws ConfigError if the largest block
 * size is not a multiple of the others.
 */
export function mergeTraces(
  [first, ...others]: readonly [Trace, ...Trace[]],
  shiftMs: number,
): Trace {
  if (others.length === 0) return first;
  const total = others.reduce((sum, { requests }) => sum + requests.length, first.requests.length);
  if (total > REQUESTS_MAX) {
    const message = `${total} requests are more than ${REQUESTS_MAX}; merge fewer or shorter traces`;
    throw new ConfigError('trace', [{ path: '--merge', message }]);
  }
  const blockTokens = commonBlockTokens([first, ...others]);
  const apart = others.map((trace, index) =>
    shifted(renamed(inBlocks(trace, blockTokens), `${index + 1}:`), Math.max(0, shiftMs)),
  );
  const parts = [shifted(inBlocks(first, blockTokens), Math.max(0, -shiftMs)), ...apart];
  return {
    blockTokens,
    // A stable sort: of requests at the same time, those of the first trace come first.
    requests: parts.flatMap(({ requests }) => requests).sort((a, b) => a.atMs - b.atMs),
    repaired: parts.reduce((sum, { repaired }) => sum + repaired, 0),
    notes: parts.flatMap(({ notes }) => notes),
  };
}

/** The same requests, later by `byMs`. */
export function shifted(trace: Trace, byMs: number): Trace {
  if (byMs === 0) return trace;
  const requests = trace.requests.map((each) => ({ ...each, atMs: each.atMs + byMs }));
  return { ...trace, requests };
}

export function hasBlocks({ requests }: Pick<TraceContent, 'requests'>): boolean {
  for (const { blockIds } of requests) if (blockIds.length > 0) return true;
  return false;
}

/** The largest block size of the traces that have blocks. */
function commonBlockTokens(traces: readonly Trace[]): number {
  const sizes = traces.filter((each) => hasBlocks(each)).map(({ blockTokens }) => blockTokens);
  if (sizes.length === 0) return traces[0]?.blockTokens ?? 1;
  const largest = Math.max(...sizes);
  const odd = sizes.find((size) => largest % size !== 0);
  if (odd === undefined) return largest;
  const message = `blocks of ${odd} tokens in one trace do not make up those of ${largest} in another; such traces cannot be merged`;
  throw new ConfigError('trace', [{ path: '--merge', message }]);
}

function inBlocks(trace: Trace, blockTokens: number): Trace {
  if (trace.blockTokens === blockTokens || !hasBlocks(trace)) return { ...trace, blockTokens };
  const ids = inBlocksOf(blockTokens, trace);
  const requests = trace.requests.map((request): TraceRequest => {
    const { value = [] } = ids.next() as IteratorResult<readonly number[], undefined>;
    // The last block may not be full.
    return { ...request, blockIds: value.slice(0, Math.floor(request.promptTokens / blockTokens)) };
  });
  return { ...trace, blockTokens, requests };
}

function renamed(trace: Trace, prefix: string): Trace {
  const requests = trace.requests.map((request) => ({
    ...request,
    blockIds: request.blockIds.map((id) => `${prefix}${id}`),
    ...(request.session !== undefined && { session: `${prefix}${request.session}` }),
  }));
  return { ...trace, requests };
}
