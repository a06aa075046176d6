import type { Millis } from '../framework/runtime.ts';

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
}

export interface Trace {
  /** Of each id in `blockIds`. */
  readonly blockTokens: number;
  readonly requests: readonly TraceRequest[];
  /** Lines left out or mended, where that was allowed. */
  readonly repaired: number;
}

/** A trace that cannot be read, with the place. */
export class TraceError extends Error {
  override readonly name = 'TraceError';

  constructor(source: string, line: number, message: string) {
    super(`${source}:${line}: ${message}`);
  }
}

/** What one line of a trace says; a string says what is wrong with it. */
export type LineReader = (line: string) => TraceRequest | string;

export interface CollectOptions {
  readonly source: string;
  readonly blockTokens: number;
  /** Bad lines are left out and counted, and what is out of order is sorted, instead of refusing the trace. */
  readonly lenient: boolean;
  /** Number of the first line, where others went before it. */
  readonly firstLine?: number;
}

/** Ten million requests: a busy week, and about what memory holds. */
const REQUESTS_MAX = 10_000_000;

/** Reads line by line; times are moved so that the first request comes at 0. Throws TraceError. */
export function collectTrace(
  lines: Iterable<string>,
  read: LineReader,
  { source, blockTokens, lenient, firstLine = 1 }: CollectOptions,
): Trace {
  const requests: TraceRequest[] = [];
  let repaired = 0;
  let number = firstLine - 1;
  let latest = Number.NEGATIVE_INFINITY;
  let ordered = true;
  for (const line of lines) {
    number += 1;
    if (line.trim() === '') continue;
    const request = read(line);
    const wrong =
      typeof request === 'string'
        ? request
        : request.atMs < latest && !lenient
          ? `at ${request.atMs} ms, before the request above at ${latest} ms`
          : undefined;
    if (wrong !== undefined || typeof request === 'string') {
      if (!lenient) throw new TraceError(source, number, wrong ?? '');
      repaired += 1;
      continue;
    }
    if (request.atMs < latest) {
      ordered = false;
      repaired += 1;
    }
    latest = Math.max(latest, request.atMs);
    requests.push(request);
    if (requests.length > REQUESTS_MAX) {
      throw new TraceError(source, number, `more than ${REQUESTS_MAX} requests; cut the trace`);
    }
  }
  if (requests.length === 0) throw new TraceError(source, number, 'no request in the whole trace');
  if (!ordered) requests.sort((a, b) => a.atMs - b.atMs);
  const startMs = requests[0]?.atMs ?? 0;
  return {
    blockTokens,
    repaired,
    requests:
      startMs === 0
        ? requests
        : requests.map((request) => ({ ...request, atMs: request.atMs - startMs })),
  };
}
