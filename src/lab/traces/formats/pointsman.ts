import { z } from 'zod';
import { OUTCOMES } from '../../../framework/observer.ts';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import { blockIdsOf, prefixNumbersOf } from '../prefix-numbers.ts';
import type { IdRun } from '../table/id-runs.ts';
import type { TraceContent, TraceRequest } from '../trace.ts';
import { TOKENS_MAX, type TraceFormat, type TraceReader } from '../trace-format.ts';

const VERSION = 1;

const header = z.object({
  pointsman: z.literal('trace'),
  version: z.literal(VERSION),
  blockTokens: z.int().positive(),
});

const row = z.object({
  at: nonNegative,
  in: promptTokens,
  out: outputTokens,
  model: z.string().optional(),
  blocks: z.array(z.tuple([z.int().nonnegative(), z.int().positive().max(TOKENS_MAX)])).optional(),
  session: z.string().optional(),
  thinkMs: nonNegative.optional(),
  priority: z.int().optional(),
  fairnessId: z.string().optional(),
  outcome: z.enum(OUTCOMES).optional(),
  ttftMs: nonNegative.optional(),
  e2eMs: nonNegative.optional(),
});

const NO_RUNS: readonly IdRun[] = [];

/** Everything that a trace can hold, with blocks as runs of consecutive numbers. */
export const POINTSMAN: TraceFormat = {
  name: 'pointsman',
  about: 'Pointsman’s own JSON Lines',
  carries: ['blockIds', 'model', 'session', 'thinkMs', 'priority', 'fairnessId', 'seen'],
  shape: 'lines',
  firstLine: (text) => text.startsWith('{"pointsman"'),
  ordered: true,
  reader: (firstLine): TraceReader | string => {
    const parsed = parseJson(firstLine, header);
    if (typeof parsed === 'string') return `in the header of the trace, ${parsed}`;
    const { blockTokens } = parsed;
    return { blockTokens, hasHeader: true, read: (line) => read(line, blockTokens) };
  },
  write,
};

function read(line: string, blockTokens: number): TraceRequest | string {
  const parsed = parseJson(line, row);
  if (typeof parsed === 'string') return parsed;
  const { at, in: promptTokens, out: outputTokens, model = '', blocks = [] } = parsed;
  const { session, thinkMs, priority, fairnessId, outcome, ttftMs, e2eMs } = parsed;
  const count = blocks.reduce((sum, [, length]) => sum + length, 0);
  if (count * blockTokens > promptTokens) {
    return `blocks has ${count} blocks of ${blockTokens} tokens, but the prompt has ${promptTokens} tokens`;
  }
  return {
    atMs: at,
    model,
    promptTokens,
    outputTokens,
    blockIds: blockIdsOf(blocks),
    ...(session !== undefined && { session }),
    ...(thinkMs !== undefined && { thinkMs }),
    ...(priority !== undefined && { priority }),
    ...(fairnessId !== undefined && { fairnessId }),
    ...(outcome !== undefined && {
      seen: {
        outcome,
        ...(ttftMs !== undefined && { ttftMs }),
        ...(e2eMs !== undefined && { e2eMs }),
      },
    }),
  };
}

function* write({ blockTokens, requests }: TraceContent): Generator<string, void> {
  yield `${JSON.stringify({ pointsman: 'trace', version: VERSION, blockTokens })}\n`;
  const prefixes = prefixNumbersOf(requests);
  for (const request of requests) {
    const { atMs, promptTokens, outputTokens, model, session, seen } = request;
    const { thinkMs, priority, fairnessId } = request;
    const { value: blocks = NO_RUNS } = prefixes.next() as IteratorResult<
      readonly IdRun[],
      undefined
    >;
    const line = {
      at: atMs,
      in: promptTokens,
      out: outputTokens,
      model: model || undefined,
      blocks: blocks.length === 0 ? undefined : blocks,
      session,
      thinkMs,
      priority,
      fairnessId,
      ...seen,
    };
    yield `${JSON.stringify(line)}\n`;
  }
}
