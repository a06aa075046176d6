import type { Outcome } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** One request of a trace: sizes and identities, never text. */
export interface TraceRequest {
  /** Since the trace began. Never less than that of the request before. */
  readonly atMs: Millis;
  /** A model or an adapter; empty where the trace does not say. */
  readonly model: string;
  /** At least 1. */
  readonly promptTokens: number;
  /** At least 1. */
  readonly outputTokens: number;
  /** One id for each full block of the prompt; equal ids at equal places are equal text from the start. */
  readonly blockIds: readonly (number | string)[];
  /** Turns of one conversation share it. Absent where the trace does not say. */
  readonly session?: string;
  /** From the end of the answer before it, in its session, to this request. Absent where the trace does not say. */
  readonly thinkMs?: Millis;
  /** What became of it when the trace was recorded. Absent where the trace does not say. */
  readonly seen?: SeenEnd;
}

export interface SeenEnd {
  readonly outcome: Outcome;
  /** From arrival to the first token. */
  readonly ttftMs?: Millis;
  /** From arrival to the end. */
  readonly e2eMs?: Millis;
}

export interface Trace {
  /** Of each id in `blockIds`. */
  readonly blockTokens: number;
  /** In the order of arrival, at least one. */
  readonly requests: readonly TraceRequest[];
  /** Lines left out or mended, where that was allowed. */
  readonly repaired: number;
  /** Sentences about what the trace does not tell, and what was made of it. */
  readonly notes: readonly string[];
}

/** A trace that cannot be read, with the place. */
export class TraceError extends Error {
  override readonly name = 'TraceError';

  constructor(source: string, line: number, message: string) {
    super(`${source}:${line}: ${message}`);
  }
}
