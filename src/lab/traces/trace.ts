import type { Outcome } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** One request of a trace: sizes and ids, without any text. */
export interface TraceRequest {
  /** Arrival, from the start of the trace; not less than that of the request before. */
  readonly atMs: Millis;
  /** A model or an adapter; empty if the trace does not say. */
  readonly model: string;
  /** At least 1. */
  readonly promptTokens: number;
  /** At least 1. */
  readonly outputTokens: number;
  /** One for each full block of the prompt. Equal ids up to a place mean equal text up to it. */
  readonly blockIds: readonly (number | string)[];
  /** The conversation whose turn it is. Absent if the trace does not say. */
  readonly session?: string;
  /** From the end of the answer before it in its session to this request. Absent if unknown. */
  readonly thinkMs?: Millis;
  /** Higher ones first, for requests that wait. Absent for 0. */
  readonly priority?: number;
  /** Whose request it is, for fair shares. Absent if the trace does not say. */
  readonly fairnessId?: string;
  /** What became of it when the trace was recorded. Absent if the trace does not say. */
  readonly seen?: RecordedEnd;
}

/** Times count from the arrival. */
export interface RecordedEnd {
  readonly outcome: Outcome;
  readonly ttftMs?: Millis;
  readonly e2eMs?: Millis;
}

export interface Trace {
  /** Tokens in each block of `blockIds`. */
  readonly blockTokens: number;
  /** At least one, in the order of arrival. */
  readonly requests: readonly TraceRequest[];
  /** How many lines were skipped or corrected, if that was allowed. */
  readonly repaired: number;
  /** Sentences about what the trace does not contain, and what was assumed instead. */
  readonly notes: readonly string[];
}

/** How a trace was read. */
export type TraceReading = Pick<Trace, 'repaired' | 'notes'>;

/** Sentences for a person. */
export function describeReading({ repaired, notes }: TraceReading): readonly string[] {
  const corrected = repaired > 0 ? [`${repaired} lines skipped or corrected`] : [];
  return [...corrected, ...notes].map((sentence) => `trace: ${sentence}`);
}

/** A trace that cannot be read, with the place of the error. */
export class TraceError extends Error {
  override readonly name = 'TraceError';

  constructor(source: string, line: number, message: string) {
    super(`${source}:${line}: ${message}`);
  }
}
