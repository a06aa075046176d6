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
const row: z.ZodType<ServingPoint> = z.object({
  config: z.string().min(1),
  maxNumSeqs: z.coerce.number().int().positive(),
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
});

/** Reads a CSV with the columns of `row`, in any order. Throws ConfigError with the line. */
export function readServingPoints(text: string, source: string): readonly ServingPoint[] {
  return csvRows(text, row, source);
}
