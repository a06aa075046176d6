import type { Millis } from '../../framework/runtime.ts';
import { outputTokens, promptTokens } from './json-fields.ts';
import { NestedCalls, type SpanPlace } from './nested-calls.ts';
import type { TraceRequest } from './trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceReader,
} from './trace-format.ts';

/** What any store of spans says of one. */
export interface RecordedSpan {
  readonly place: SpanPlace;
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

/**
 * A reader for formats of spans: of each text it takes the calls of models among the spans. A string
 * in place of spans is an error message.
 */
export function modelCallReader(
  spansIn: (text: string) => readonly RecordedSpan[] | string,
): () => TraceReader {
  return () => {
    const nested = new NestedCalls();
    const callOf = (span: RecordedSpan): TraceRequest | typeof SKIPPED => {
      const operation = span.attributes.get('gen_ai.operation.name');
      // Calls within the span of an agent or a tool are not those around it.
      if (!OPERATIONS.has(operation)) return SKIPPED;
      const request = requestOf(span);
      if (request === SKIPPED) nested.addOther(span.place);
      else nested.addCall(span.place, operation !== undefined);
      return request;
    };
    const read = (text: string): ReadResult => {
      const spans = spansIn(text);
      return typeof spans === 'string' ? spans : spans.map(callOf);
    };
    const onRow = (row: number | undefined): void => nested.placeCall(row);
    return { ...readerOf(read)(), onRow, rowsLeftOut: () => nested.rowsLeftOut() };
  };
}

function requestOf({
  atMs,
  e2eMs,
  attributes,
  failed,
}: RecordedSpan): TraceRequest | typeof SKIPPED {
  const first = (names: readonly string[]): string | number | undefined =>
    names.map((name) => attributes.get(name)).find((value) => value !== undefined);
  const prompt = promptTokens.safeParse(Number(first(INPUT)));
  if (!prompt.success) return SKIPPED;
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
