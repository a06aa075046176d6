import { z } from 'zod';
import { outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { RecordedEnd, TraceRequest } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
} from '../trace-format.ts';

const SECOND_MS = 1000;
/** A request lies in a report, its benchmarks, one of them, its requests, and a list of them. */
const REQUEST_DEPTH = 6;

const optional = z.number().nullish();
const metrics = z.object({ total_tokens: optional, text_tokens: optional }).nullish();
const timings = z.object({ request_start: optional, resolve_start: optional }).nullish();
const record = z.object({
  // Unix time in seconds; the names are those of different versions.
  request_start_time: optional,
  start_time: optional,
  info: z.object({ status: z.string().nullish(), timings }).nullish(),
  prompt_tokens: optional,
  input_metrics: metrics,
  output_tokens: optional,
  output_metrics: metrics,
  time_to_first_token_ms: optional,
  request_latency: optional,
  error: z.unknown().optional(),
});

type GuideRequest = z.infer<typeof record>;

/** GuideLLM's report, `benchmarks.json`: all requests of all its benchmarks. */
export const GUIDE_LLM: TraceFormat = {
  name: 'guidellm',
  about: 'GuideLLM’s benchmarks.json',
  carries: ['seen'],
  shape: { nested: REQUEST_DEPTH },
  firstLine: (text) =>
    text.startsWith('{') &&
    (/"guidellm_version"|"type_":\s*"generative_benchmark/.test(text) ||
      (text.includes('"benchmarks"') && text.includes('"metadata"'))),
  // Successful, failed and incomplete ones stand in lists of their own.
  ordered: false,
  reader: readerOf(read),
};

function read(text: string): ReadResult {
  // Other objects lie as deep, such as those with figures of a benchmark.
  if (!/"request_id"|"input_metrics"|"prompt_tokens"/.test(text)) return [];
  const parsed = parseJson(text, record);
  if (typeof parsed === 'string') return parsed;
  const { info, input_metrics: input, output_metrics: output } = parsed;
  const start = parsed.request_start_time ?? parsed.start_time ?? startOf(info?.timings);
  const prompt = parsed.prompt_tokens ?? input?.total_tokens ?? input?.text_tokens;
  const size = promptTokens.safeParse(prompt);
  // One that was never sent has no time, and one that failed at once has no size.
  if (typeof start !== 'number' || prompt === null || prompt === undefined) return [SKIPPED];
  if (!size.success) return `prompt_tokens is ${prompt}: ${size.error.issues[0]?.message}`;
  const seen = endOf(parsed);
  const answer = parsed.output_tokens ?? output?.total_tokens ?? output?.text_tokens;
  return requestOf({ start, size: size.data, answer, seen });
}

function startOf(times: z.infer<typeof timings>): number | null | undefined {
  return times?.request_start ?? times?.resolve_start;
}

function requestOf(read: {
  readonly start: number;
  readonly size: number;
  readonly answer: number | null | undefined;
  readonly seen: RecordedEnd;
}): TraceRequest | string {
  const answer = outputTokens.safeParse(read.answer ?? undefined);
  const unknown = read.answer === null || read.answer === undefined;
  if (!unknown && !answer.success) {
    return `output_tokens is ${read.answer}: ${answer.error.issues[0]?.message}`;
  }
  // The few tokens of a failed request do not show how many it asked for.
  const counted = answer.success && read.seen.outcome === 'completed';
  return {
    atMs: SECOND_MS * read.start,
    model: '',
    promptTokens: read.size,
    outputTokens: counted ? answer.data : Number.NaN,
    blockIds: NO_TRACE_BLOCKS,
    seen: read.seen,
  };
}

function endOf(request: GuideRequest): RecordedEnd {
  const { info, error, time_to_first_token_ms: ttftMs, request_latency: latency } = request;
  const status = info?.status ?? (error === undefined || error === null ? 'completed' : 'errored');
  const outcome =
    status === 'completed' ? 'completed' : status === 'errored' ? 'failed' : 'aborted';
  return {
    outcome,
    ...(typeof ttftMs === 'number' && ttftMs >= 0 && { ttftMs }),
    ...(typeof latency === 'number' && latency >= 0 && { e2eMs: SECOND_MS * latency }),
  };
}
