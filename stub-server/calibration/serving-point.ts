import { z } from 'zod';
import { csvRows } from './csv-rows.ts';
import { type LengthQuantiles, lengthQuantiles } from './length-quantiles.ts';

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
  /** Tokens that the engine generated, where the client counts the text's tokens anew. */
  readonly generatedTokensMean?: number | undefined;
  /** How lengths are spread around their mean; all have the mean by default. */
  readonly promptTokensQuantiles?: LengthQuantiles | undefined;
  readonly outputTokensQuantiles?: LengthQuantiles | undefined;
  /** Number of the benchmark's different prompts. */
  readonly distinctPrompts: number;
  /** The client has at most so many open requests. */
  readonly inFlightMax: number;
  /** Processes of the client, which take requests in turn and have connections of their own. */
  readonly clientWorkers: number;
}

const positive = z.coerce.number().positive();
const count = z.coerce.number().int().positive();
const row: z.ZodType<ServingPoint> = z.object({
  config: z.string().min(1),
  maxNumSeqs: count,
  prefixCaching: z
    .enum(['0', '1', 'false', 'true', 'False', 'True'])
    .transform((text) => ['1', 'true', 'True'].includes(text)),
  requestedRps: positive,
  throughputRps: positive,
  requests: positive,
  promptTokensMean: positive,
  outputTokensMean: positive,
  ttftMeanS: positive,
  ttftMedianS: positive,
  e2eMeanS: positive,
  generatedTokensMean: positive.optional(),
  promptTokensQuantiles: lengthQuantiles.optional(),
  outputTokensQuantiles: lengthQuantiles.optional(),
  // The defaults are inference-perf's in its published benchmark of vLLM on an H100.
  distinctPrompts: count.default(100),
  inFlightMax: count.default(440),
  clientWorkers: count.default(44),
});

/** Reads a CSV with the columns of `row`, in any order. Throws ConfigError with the line. */
export function readServingPoints(text: string, source: string): readonly ServingPoint[] {
  return csvRows(text, row, source);
}
