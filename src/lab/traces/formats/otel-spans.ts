import { z } from 'zod';
import { outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import { noTraceOf } from '../no-trace.ts';
import type { TraceRequest } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
} from '../trace-format.ts';

/** OTLP's JSON has 64-bit numbers as strings; some exporters write them as numbers. */
const nanoseconds = z.union([z.string().regex(/^\d{1,20}$/), z.number().nonnegative()]);

const attribute = z.object({
  key: z.string(),
  value: z
    .object({
      stringValue: z.string().optional(),
      intValue: z.union([z.string(), z.number()]).optional(),
      doubleValue: z.number().optional(),
    })
    .optional(),
});

const span = z.object({
  startTimeUnixNano: nanoseconds,
  endTimeUnixNano: nanoseconds.optional(),
  attributes: z.array(attribute).optional(),
  status: z.object({ code: z.union([z.number(), z.string()]).optional() }).optional(),
});

const scope = z.object({ spans: z.array(span).optional() });
const resource = z.object({ scopeSpans: z.array(scope).optional() });
const batch = z.object({ resourceSpans: z.array(resource) });

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

/** Spans of OpenTelemetry's GenAI conventions, as the collector's file exporter writes them. */
export const OTEL: TraceFormat = {
  name: 'otel',
  about: 'OpenTelemetry’s GenAI spans in OTLP/JSON',
  carries: ['model', 'session', 'seen'],
  shape: 'lines-or-values',
  // A value over many lines begins with a brace alone.
  firstLine: (text) => text === '{' || /^(?:\{.*"resourceSpans"|\[.*"?resourceSpans)/.test(text),
  // Spans are usually in the order in which they ended.
  ordered: false,
  reader: readerOf(read),
};

function read(text: string): ReadResult {
  const parsed = parseJson(text, batch);
  // A brace alone is how any JSON over many lines begins.
  if (typeof parsed === 'string') return noTraceOf(text) ?? parsed;
  return parsed.resourceSpans
    .flatMap(({ scopeSpans = [] }) => scopeSpans)
    .flatMap(({ spans = [] }) => spans)
    .map(requestOf);
}

function requestOf(recorded: z.infer<typeof span>): TraceRequest | typeof SKIPPED {
  const { startTimeUnixNano, endTimeUnixNano, attributes = [], status } = recorded;
  const values = new Map(attributes.map(({ key, value }) => [key, plain(value)]));
  const first = (names: readonly string[]): string | number | undefined =>
    names.map((name) => values.get(name)).find((value) => value !== undefined);
  const prompt = promptTokens.safeParse(Number(first(INPUT)));
  if (!prompt.success || !OPERATIONS.has(values.get('gen_ai.operation.name'))) return SKIPPED;
  const output = outputTokens.safeParse(Number(first(OUTPUT)));
  const session = values.get('gen_ai.conversation.id');
  const atMs = millis(startTimeUnixNano);
  const e2eMs = endTimeUnixNano === undefined ? undefined : millis(endTimeUnixNano) - atMs;
  const ttftMs = 1000 * Number(first(FIRST_TOKEN));
  const failed = status?.code === 2 || status?.code === 'STATUS_CODE_ERROR';
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

function plain(value: z.infer<typeof attribute>['value']): string | number | undefined {
  return value?.stringValue ?? value?.intValue ?? value?.doubleValue;
}

/** To the microsecond, which is the precision of a double for present times. */
function millis(time: string | number): number {
  if (typeof time === 'number') return time / 1_000_000;
  return Number(BigInt(time) / 1000n) / 1000;
}
