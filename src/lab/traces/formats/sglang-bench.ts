import { z } from 'zod';
import { outputTokens, parseJson, promptTokens } from '../json-fields.ts';
import type { TraceRequest } from '../trace.ts';
import {
  NO_TRACE_BLOCKS,
  type ReadResult,
  readerOf,
  SKIPPED,
  type TraceFormat,
  type TraceReader,
} from '../trace-format.ts';

const SECOND_MS = 1000;

/** Parallel lists, one value for each request; durations are in seconds. */
const result = z.object({
  // Python writes Infinity for requests that are sent all at once, which is read as null.
  request_rate: z.union([z.number().positive(), z.literal('trace')]).nullish(),
  max_concurrency: z.number().nullish(),
  input_lens: z.array(z.union([z.literal(0), promptTokens])),
  output_lens: z.array(outputTokens),
  ttfts: z.array(z.number().nullable()).nullish(),
  itls: z.array(z.array(z.number().nullable())).nullish(),
  errors: z.array(z.unknown()).nullish(),
});

type Result = z.infer<typeof result>;

/**
 * Results of SGLang's `bench_serving --output-details`, a run a line. They do not say when a request
 * was sent, but at which rate, so the requests of a run are as far apart as that rate says.
 */
export const SGLANG_BENCH: TraceFormat = {
  name: 'sglang-bench',
  about: 'results of SGLang’s bench_serving --output-details',
  carries: ['seen'],
  shape: 'lines-or-values',
  firstLine: (text) =>
    text.startsWith('{') &&
    // vLLM's results are much alike, and say when requests were sent.
    !text.includes('"model_id"') &&
    ['"input_lens"', '"output_lens"', '"backend"', '"request_rate"'].every((each) =>
      text.includes(each),
    ),
  ordered: false,
  reader: () => new SglangReader(),
};

class SglangReader implements TraceReader {
  readonly blockTokens: number = readerOf(() => [])().blockTokens;
  /** When the runs so far end: each begins after the one before it. */
  #startMs = 0;
  #runs = 0;

  readonly read = (text: string): ReadResult => {
    const parsed = parseJson(text, result);
    if (typeof parsed === 'string') return parsed;
    const { input_lens, output_lens, request_rate: rate, max_concurrency: most } = parsed;
    if (input_lens.length !== output_lens.length) {
      return `input_lens has ${input_lens.length} values and output_lens ${output_lens.length}: they must have as many`;
    }
    if (rate === 'trace' || (typeof rate !== 'number' && typeof most === 'number')) {
      const how =
        rate === 'trace' ? 'at the times of a trace' : `as others ended (${most} at once)`;
      return `requests were sent ${how}, and the result does not say when: give --request-rate to bench_serving, or capture its run`;
    }
    const stepMs = typeof rate === 'number' ? SECOND_MS / rate : 0;
    const startMs = this.#startMs;
    this.#runs += 1;
    this.#startMs += Math.max(1, stepMs) * Math.max(1, input_lens.length);
    return input_lens.map((_, index) => requestOf(parsed, index, startMs + stepMs * index));
  };

  readonly notes = (): readonly string[] =>
    this.#runs === 0
      ? []
      : [
          'the results do not say when requests came: they are as far apart as request_rate says, one run behind the other',
        ];
}

function requestOf(run: Result, index: number, atMs: number): TraceRequest | typeof SKIPPED {
  const tokens = run.input_lens[index] ?? 0;
  if (tokens === 0) return SKIPPED;
  const failed = (run.errors?.[index] ?? '') !== '';
  const ttft = run.ttfts?.[index] ?? 0;
  const e2e = (run.itls?.[index] ?? []).reduce<number>((sum, pause) => sum + (pause ?? 0), ttft);
  return {
    atMs,
    model: '',
    promptTokens: tokens,
    // The few tokens of a failed request do not show how many it asked for.
    outputTokens: failed ? Number.NaN : (run.output_lens[index] ?? Number.NaN),
    blockIds: NO_TRACE_BLOCKS,
    seen: {
      outcome: failed ? 'failed' : 'completed',
      ...(!failed && ttft > 0 && { ttftMs: SECOND_MS * ttft, e2eMs: SECOND_MS * e2e }),
    },
  };
}
