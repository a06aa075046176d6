import { z } from 'zod';
import { outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { TraceRequest } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
} from '../trace-format.ts';
import { noTraceOf } from './no-trace.ts';

/** Parallel lists, one value for each request; times are in seconds. */
const result = z.object({
  model_id: z.string().nullish(),
  // The clock may count from any time.
  start_times: z.array(z.number()),
  input_lens: z.array(z.union([z.literal(0), promptTokens])),
  output_lens: z.array(outputTokens),
  ttfts: z.array(z.number()).nullish(),
  itls: z.array(z.array(z.number())).nullish(),
  errors: z.array(z.unknown()).nullish(),
});

type Result = z.infer<typeof result>;

/** How a result begins. */
const SETTINGS = ['"model_id"', '"tokenizer_id"', '"num_prompts"', '"request_rate"'];

/** Results of `vllm bench serve --save-result --save-detailed`, a run a line. */
export const VLLM_BENCH: TraceFormat = {
  name: 'vllm-bench',
  about: 'results of `vllm bench serve --save-result --save-detailed`',
  carries: ['model', 'seen'],
  shape: 'lines-or-values',
  firstLine: (text) =>
    text.startsWith('{') &&
    (['"input_lens"', '"start_times"'].every((each) => text.includes(each)) ||
      // In a document of many lines, the lists may begin far behind its first line.
      (text.includes('\n') && SETTINGS.every((each) => text.includes(each)))),
  // Requests are sent in order, but failed ones and those of several streams may not be in order.
  ordered: false,
  reader: readerOf(read),
};

function read(text: string): ReadResult {
  const parsed = parseJson(text, result);
  if (typeof parsed === 'string') return noTraceOf(text) ?? parsed;
  const { start_times, input_lens, output_lens } = parsed;
  const requests = start_times.length;
  if (input_lens.length !== requests || output_lens.length !== requests) {
    return `start_times has ${requests} values, input_lens ${input_lens.length} and output_lens ${output_lens.length}: they must have as many`;
  }
  return start_times.map((_, index) => requestOf(parsed, index));
}

function requestOf(run: Result, index: number): TraceRequest | typeof SKIPPED {
  const promptTokens = run.input_lens[index] ?? 0;
  if (promptTokens === 0) return SKIPPED;
  const ttft = run.ttfts?.[index] ?? 0;
  const pauses = run.itls?.[index] ?? [];
  const error = run.errors?.[index] ?? '';
  const failed = error !== '';
  const e2e = pauses.reduce((sum, pause) => sum + pause, ttft);
  return {
    atMs: 1000 * (run.start_times[index] ?? 0),
    model: run.model_id ?? '',
    promptTokens,
    // The few tokens of a failed request do not show how many it asked for.
    outputTokens: failed ? Number.NaN : (run.output_lens[index] ?? Number.NaN),
    blockIds: NO_TRACE_BLOCKS,
    seen: {
      outcome: failed ? 'failed' : 'completed',
      ...(!failed && ttft > 0 && { ttftMs: 1000 * ttft, e2eMs: 1000 * e2e }),
    },
  };
}
