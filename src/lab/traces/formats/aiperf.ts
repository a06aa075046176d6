import { z } from 'zod';
import { nonNegative, outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { RecordedEnd, TraceContent, TraceRequest } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
} from '../trace-format.ts';

const MS_NS = 1_000_000;

function measured<T extends z.ZodType>(value: T) {
  return z.object({ value }).optional();
}

const record = z.object({
  metadata: z.object({
    request_start_ns: nonNegative,
    x_correlation_id: z.string().nullish(),
    conversation_id: z.string().nullish(),
    benchmark_phase: z.string().nullish(),
    was_cancelled: z.boolean().nullish(),
  }),
  metrics: z.object({
    input_sequence_length: measured(promptTokens),
    error_isl: measured(promptTokens),
    output_sequence_length: measured(outputTokens),
    output_token_count: measured(outputTokens),
    time_to_first_token: measured(nonNegative),
    request_latency: measured(nonNegative),
  }),
  error: z.unknown().optional(),
});

/** AIPerf's records of the requests of a run, `profile_export.jsonl`. */
export const AIPERF: TraceFormat = {
  name: 'aiperf',
  about: 'AIPerf’s profile_export.jsonl',
  carries: ['session', 'seen'],
  shape: 'lines',
  firstLine: (text) =>
    text.startsWith('{') && text.includes('"metadata"') && text.includes('"metrics"'),
  // Records are in the order in which requests ended.
  ordered: false,
  reader: readerOf(read),
  write,
};

function read(line: string): ReadResult {
  const parsed = parseJson(line, record);
  if (typeof parsed === 'string') return parsed;
  const { metadata, metrics, error } = parsed;
  const promptTokens = (metrics.input_sequence_length ?? metrics.error_isl)?.value;
  if (metadata.benchmark_phase === 'warmup' || promptTokens === undefined) return [SKIPPED];
  const output = metrics.output_sequence_length ?? metrics.output_token_count;
  const failed = error !== undefined && error !== null;
  const session = metadata.x_correlation_id ?? metadata.conversation_id ?? undefined;
  const ttftMs = metrics.time_to_first_token?.value;
  const e2eMs = metrics.request_latency?.value;
  const outcome = metadata.was_cancelled === true ? 'aborted' : failed ? 'failed' : 'completed';
  return {
    atMs: metadata.request_start_ns / MS_NS,
    model: '',
    promptTokens,
    outputTokens: output?.value ?? Number.NaN,
    blockIds: NO_TRACE_BLOCKS,
    ...(session !== undefined && { session }),
    seen: {
      outcome,
      ...(ttftMs !== undefined && { ttftMs }),
      ...(e2eMs !== undefined && { e2eMs }),
    },
  };
}

function* write({ requests }: TraceContent): Generator<string, void> {
  const sessions = new Map<string, { readonly number: number; turns: number }>();
  let index = -1;
  for (const request of requests) {
    index += 1;
    const id = request.session ?? `request-${index}`;
    const session = sessions.get(id) ?? { number: sessions.size, turns: 0 };
    sessions.set(id, session);
    const place = {
      session_num: session.number,
      x_request_id: `request-${index}`,
      x_correlation_id: id,
      conversation_id: id,
      turn_index: session.turns++,
    };
    const metadata = { ...place, ...timesOf(request) };
    const record = { metadata, metrics: metricsOf(request), error: errorOf(request.seen) };
    yield `${JSON.stringify(record)}\n`;
  }
}

function timesOf({ atMs, seen }: TraceRequest): object {
  const startNs = Math.round(atMs * MS_NS);
  const endNs = startNs + Math.round((seen?.e2eMs ?? 0) * MS_NS);
  return {
    request_start_ns: startNs,
    request_ack_ns: null,
    request_end_ns: endNs,
    worker_id: 'pointsman',
    record_processor_id: 'pointsman',
    benchmark_phase: 'profiling',
    was_cancelled: seen?.outcome === 'aborted',
    cancellation_time_ns: seen?.outcome === 'aborted' ? endNs : null,
  };
}

function metricsOf({ promptTokens, outputTokens, seen }: TraceRequest): object {
  const tokens = (value: number): object => ({ value, unit: 'tokens' });
  const ms = (value: number | undefined): object | undefined =>
    value === undefined ? undefined : { value, unit: 'ms' };
  return {
    [errorOf(seen) === null ? 'input_sequence_length' : 'error_isl']: tokens(promptTokens),
    output_sequence_length: tokens(outputTokens),
    time_to_first_token: ms(seen?.ttftMs),
    request_latency: ms(seen?.e2eMs),
  };
}

function errorOf(seen: RecordedEnd | undefined): object | null {
  if (seen?.outcome === 'failed') return { code: 500, type: 'failed', message: 'it failed' };
  if (seen?.outcome !== 'aborted') return null;
  return { code: 499, type: 'RequestCancellationError', message: 'its client left' };
}
