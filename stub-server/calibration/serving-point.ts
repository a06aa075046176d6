import { z } from 'zod';
import { csvRows } from './csv-rows.ts';

/** The results of a benchmark at one request rate. */
export interface ServingPoint {
  readonly config: string;
  readonly maxNumSeqs: number;
  readonly prefixCaching: boolean;
  /** The request rate for which the client was configured. */
  readonly requestedRps: number;
  readonly throughputRps: number;
  readonly requests: number;
  readonly promptTokensMean: number;
  readonly outputTokensMean: number;
  readonly ttftMeanS: number;
  readonly ttftMedianS: number;
  readonly e2eMeanS: number;
}

const positive = z.coerce.number().positive();
const row = z.object({
  config: z.string().min(1),
  max_num_seqs: z.coerce.number().int().positive(),
  prefix_caching: z.enum(['0', '1', 'false', 'true', 'False', 'True']),
  requested_rps: positive,
  throughput_rps: positive,
  requests: positive,
  prompt_tokens_mean: positive,
  output_tokens_mean: positive,
  ttft_mean_s: positive,
  ttft_median_s: positive,
  e2e_mean_s: positive,
});

/** Reads a CSV with the columns of `row`, in any order. Throws ConfigError with the line. */
export function readServingPoints(text: string, source: string): readonly ServingPoint[] {
  return csvRows(text, row, source).map((data) => ({
    config: data.config,
    maxNumSeqs: data.max_num_seqs,
    prefixCaching: ['1', 'true', 'True'].includes(data.prefix_caching),
    requestedRps: data.requested_rps,
    throughputRps: data.throughput_rps,
    requests: data.requests,
    promptTokensMean: data.prompt_tokens_mean,
    outputTokensMean: data.output_tokens_mean,
    ttftMeanS: data.ttft_mean_s,
    ttftMedianS: data.ttft_median_s,
    e2eMeanS: data.e2e_mean_s,
  }));
}
