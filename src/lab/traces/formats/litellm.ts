import { z } from 'zod';
import { outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { RecordedEnd } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
} from '../trace-format.ts';
import { utcMs } from '../utc-time.ts';

/** Seconds since 1970 in callbacks and files; a date in the rows of the database. */
const time = z
  .union([z.number().nonnegative(), z.string()])
  .nullish()
  .transform((at) => (typeof at === 'string' ? utcMs(at) : 1000 * (at ?? Number.NaN)));

const record = z.object({
  call_type: z.string().nullish(),
  startTime: time.refine((ms) => !Number.isNaN(ms), 'must be seconds since 1970 or a date'),
  endTime: time,
  completionStartTime: time,
  prompt_tokens: z.unknown().optional(),
  completion_tokens: z.unknown().optional(),
  model: z.string().nullish(),
  session_id: z.string().nullish(),
  trace_id: z.string().nullish(),
  status: z.string().nullish(),
  cache_hit: z.unknown().optional(),
});

/** Calls whose answer a model makes token by token; others are embeddings, images and the like. */
const MODEL_CALLS: ReadonlySet<string> = new Set(
  ['completion', 'text_completion', 'responses', 'anthropic_messages', 'generate_content'].flatMap(
    (name) => [name, `a${name}`],
  ),
);

/** What LiteLLM's proxy logs of each call: its standard payload, or the rows of its spend logs. */
export const LITELLM: TraceFormat = {
  name: 'litellm',
  about: 'LiteLLM’s logs: its standard payload, or the rows of its spend logs',
  carries: ['model', 'session', 'seen'],
  shape: 'lines-or-values',
  firstLine: (text) => /^[{[]/.test(text) && /"call_type"/.test(text) && /"startTime"/.test(text),
  // Calls are logged as they end.
  ordered: false,
  reader: readerOf(read),
};

function read(text: string): ReadResult {
  const parsed = parseJson(text, record);
  if (typeof parsed === 'string') return parsed;
  const { call_type, startTime, model, session_id, trace_id, cache_hit } = parsed;
  const prompt = promptTokens.safeParse(parsed.prompt_tokens);
  const isOther = typeof call_type === 'string' && !MODEL_CALLS.has(call_type);
  // What the proxy answers from its own cache reaches no model server.
  const isCached = String(cache_hit).toLowerCase() === 'true';
  if (!prompt.success || isOther || isCached) return [SKIPPED];
  const seen = endOf(parsed);
  const output = outputTokens.safeParse(parsed.completion_tokens);
  // A failed call says 0, whatever its client asked for.
  const isCounted =
    output.success && !(seen.outcome === 'failed' && parsed.completion_tokens === 0);
  const session = session_id ?? trace_id ?? '';
  return {
    atMs: startTime,
    model: model ?? '',
    promptTokens: prompt.data,
    outputTokens: isCounted ? output.data : Number.NaN,
    blockIds: NO_TRACE_BLOCKS,
    ...(session !== '' && { session }),
    seen,
  };
}

function endOf({
  startTime,
  endTime,
  completionStartTime,
  status,
}: z.infer<typeof record>): RecordedEnd {
  const e2eMs = endTime - startTime;
  const ttftMs = completionStartTime - startTime;
  return {
    outcome: status === 'failure' ? 'failed' : 'completed',
    // An answer that is not streamed has one time for both.
    ...(ttftMs >= 0 && completionStartTime !== endTime && { ttftMs }),
    ...(e2eMs >= 0 && { e2eMs }),
  };
}
