import { z } from 'zod';
import { parseJson, promptTokens } from '../json-fields.ts';
import type { TraceContent, TraceRequest } from '../trace.ts';
import type { ReadResult, TraceFormat } from '../trace-format.ts';
import { NO_TRACE_BLOCKS, readerOf, SKIPPED, TOKENS_MAX } from '../trace-format.ts';

/** These are in `info.response_metrics`, and in older versions in `info` itself. */
const answer = {
  output_tokens: z.int().nonnegative().max(TOKENS_MAX).nullish(),
  output_token_times: z.array(z.number()).nullish(),
};

const entry = z.object({
  // In seconds of a clock that may count from any time.
  start_time: z.number(),
  end_time: z.number().nullish(),
  request: z.unknown().optional(),
  info: z
    .object({
      ...answer,
      input_tokens: z.int().nonnegative().nullish(),
      response_metrics: z.object(answer).nullish(),
      lora_adapter: z.string().nullish(),
    })
    .nullish(),
  error: z.unknown().optional(),
});

const payload = z.object({ model: z.string() });

/** inference-perf's records of the requests of a run, `per_request_lifecycle_metrics.json`. */
export const INFERENCE_PERF: TraceFormat = {
  name: 'inference-perf',
  about: 'inference-perf’s per_request_lifecycle_metrics.json',
  carries: ['model', 'seen'],
  shape: 'values',
  firstLine: '[',
  ordered: false,
  reader: readerOf(read),
  write,
};

function read(text: string): ReadResult {
  const parsed = parseJson(text, entry);
  if (typeof parsed === 'string') return parsed;
  const { start_time, end_time, info, error, request } = parsed;
  const prompt = promptTokens.safeParse(info?.input_tokens);
  if (!prompt.success) return [SKIPPED];
  const { output_tokens, output_token_times } = { ...info, ...info?.response_metrics };
  const failed = error !== undefined && error !== null;
  const first = output_token_times?.[0];
  return {
    atMs: 1000 * start_time,
    model: info?.lora_adapter ?? modelOf(request),
    promptTokens: prompt.data,
    // A failed request has no tokens, whatever it asked for.
    outputTokens:
      failed && output_tokens === 0 ? Number.NaN : Math.max(1, output_tokens ?? Number.NaN),
    blockIds: NO_TRACE_BLOCKS,
    seen: {
      outcome: failed ? 'failed' : 'completed',
      ...(first !== undefined && first >= start_time && { ttftMs: 1000 * (first - start_time) }),
      ...(typeof end_time === 'number' &&
        end_time >= start_time && { e2eMs: 1000 * (end_time - start_time) }),
    },
  };
}

/** Records contain the request's body as a string of JSON. */
function modelOf(request: unknown): string {
  if (typeof request !== 'string') return '';
  const parsed = parseJson(request, payload);
  return typeof parsed === 'string' ? '' : parsed.model;
}

function* write({ requests }: TraceContent): Generator<string, void> {
  let before = '[';
  for (const request of requests) {
    yield `${before}\n${JSON.stringify(entryOf(request))}`;
    before = ',';
  }
  yield '\n]\n';
}

function entryOf({ atMs, model, promptTokens, outputTokens, seen }: TraceRequest): object {
  const failed = seen !== undefined && seen.outcome !== 'completed';
  const times = [seen?.ttftMs, seen?.ttftMs === undefined ? undefined : seen.e2eMs]
    .filter((ms) => ms !== undefined)
    .map((ms) => (atMs + ms) / 1000);
  const answer = { output_tokens: outputTokens, output_token_times: times };
  return {
    start_time: atMs / 1000,
    end_time: seen?.e2eMs === undefined ? null : (atMs + seen.e2eMs) / 1000,
    request: JSON.stringify({ model, max_tokens: outputTokens }),
    response: null,
    info: {
      request_metrics: { text: { input_tokens: promptTokens } },
      input_tokens: promptTokens,
      ...answer,
      response_metrics: answer,
    },
    error: failed ? { error_type: seen.outcome, error_msg: seen.outcome } : null,
  };
}
