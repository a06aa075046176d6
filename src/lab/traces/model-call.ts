import type { Millis } from '../../framework/runtime.ts';
import { outputTokens, promptTokens } from './json-fields.ts';
import type { TraceRequest } from './trace.ts';
import { NO_TRACE_BLOCKS, SKIPPED } from './trace-format.ts';

/** What any store of spans says of one. */
interface RecordedSpan {
  readonly atMs: Millis;
  readonly e2eMs: Millis | undefined;
  /** What the span is about, by the names of OpenTelemetry's GenAI conventions. */
  readonly attributes: ReadonlyMap<string, string | number | undefined>;
  readonly failed: boolean;
}

/** Spans of agents and tools are skipped, because their calls of models have spans of their own. */
const MODEL_CALLS = [undefined, 'chat', 'text_completion', 'generate_content'];
const OPERATIONS: ReadonlySet<unknown> = new Set(MODEL_CALLS);
/** The names of the conventions, then their earlier names. */
const INPUT = ['gen_ai.usage.input_tokens', 'gen_ai.usage.prompt_tokens'];
const OUTPUT = ['gen_ai.usage.output_tokens', 'gen_ai.usage.completion_tokens'];
const MODEL = ['gen_ai.request.model', 'gen_ai.response.model'];
/** In seconds; the last name is vLLM's. */
const FIRST_TOKEN = [
  'gen_ai.response.time_to_first_chunk',
  'gen_ai.server.time_to_first_token',
  'gen_ai.latency.time_to_first_token',
];

/** The request of a span that is a call of a model. */
export function modelCallOf({
  atMs,
  e2eMs,
  attributes,
  failed,
}: RecordedSpan): TraceRequest | typeof SKIPPED {
  const first = (names: readonly string[]): string | number | undefined =>
    names.map((name) => attributes.get(name)).find((value) => value !== undefined);
  const prompt = promptTokens.safeParse(Number(first(INPUT)));
  if (!prompt.success || !OPERATIONS.has(attributes.get('gen_ai.operation.name'))) return SKIPPED;
  const output = outputTokens.safeParse(Number(first(OUTPUT)));
  const session = attributes.get('gen_ai.conversation.id');
  const ttftMs = 1000 * Number(first(FIRST_TOKEN));
  return {
    atMs,
    model: String(first(MODEL) ?? ''),
    promptTokens: prompt.data,
    outputTokens: output.success ? output.data : Number.NaN,
    blockIds: NO_TRACE_BLOCKS,
    ...(session !== undefined && { session: String(session) }),
    seen: {
      outcome: failed ? 'failed' : 'completed',
      ...(ttftMs >= 0 && { ttftMs }),
      ...(e2eMs !== undefined && e2eMs >= 0 && { e2eMs }),
    },
  };
}
