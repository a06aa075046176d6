import type { Outcome } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';
import { grouped } from '../../framework/values/grouped.ts';

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
  /** The flow of the request, for fair shares. Absent if the trace does not say. */
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

/** Requests in an array, or in a table that makes each when it is asked for. */
export interface TraceRequests extends Iterable<TraceRequest> {
  readonly length: number;
  /** A negative index counts from the end. */
  readonly at: (index: number) => TraceRequest | undefined;
}

export interface TraceContent {
  /** Tokens in each block of `blockIds`. */
  readonly blockTokens: number;
  /** At least one, in the order of arrival. */
  readonly requests: TraceRequests;
  /** How many lines were skipped or corrected, if that was allowed. */
  readonly repaired: number;
  /** Sentences about what the trace does not contain, and what was assumed instead. */
  readonly notes: readonly string[];
}

/** A trace whose requests are all in memory, as a simulation needs them. */
export interface Trace extends TraceContent {
  readonly requests: readonly TraceRequest[];
}

/** How a trace was read, and what it is like: a wrong unit of its times shows in its length. */
export interface TraceReading extends Pick<TraceContent, 'repaired' | 'notes'> {
  readonly requests: number;
  /** From the first arrival to the last. */
  readonly spanMs: Millis;
  readonly promptTokensMean: number;
  readonly outputTokensMean: number;
}

export function readingOf(
  trace: TraceContent,
  /** The requests, where they are read in a faster way. */
  requests: Iterable<TraceRequest> = trace.requests,
): TraceReading {
  let [count, promptTokens, outputTokens] = [0, 0, 0];
  let [firstMs, lastMs] = [0, 0];
  for (const each of requests) {
    if (count === 0) firstMs = each.atMs;
    lastMs = each.atMs;
    count += 1;
    promptTokens += each.promptTokens;
    outputTokens += each.outputTokens;
  }
  return {
    requests: count,
    spanMs: lastMs - firstMs,
    promptTokensMean: promptTokens / count,
    outputTokensMean: outputTokens / count,
    repaired: trace.repaired,
    notes: trace.notes,
  };
}

/** Sentences for a person. */
export function describeReading(reading: TraceReading): readonly string[] {
  const { requests, spanMs, promptTokensMean, outputTokensMean, notes } = reading;
  const count = (value: number): string => Math.round(value).toLocaleString('en');
  const rate = spanMs > 0 ? ` (${rateText((1000 * requests) / spanMs)}/s)` : '';
  const times = `${requestsText(requests)} over ${spanText(spanMs)}${rate}`;
  const sizes = `prompts of ${count(promptTokensMean)} tokens and answers of ${count(outputTokensMean)} on average`;
  return [`${times}, ${sizes}`, ...notes];
}

export function requestsText(requests: number): string {
  return `${requests.toLocaleString('en')} ${requests === 1 ? 'request' : 'requests'}`;
}

/** With three digits that count, and never with a power of ten. */
export function rateText(perSecond: number): string {
  const digits = { minimumSignificantDigits: 3, maximumSignificantDigits: 3 };
  return perSecond.toLocaleString('en', digits);
}

/** In the largest unit of which there are at least two. */
export function spanText(ms: Millis): string {
  const units = [
    ['days', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
    ['s', 1000],
  ] as const;
  const [name, size] = units.find(([, each]) => ms >= 2 * each) ?? ['ms', 1];
  return `${grouped(Number((ms / size).toPrecision(3)))} ${name}`;
}

/** A trace that cannot be read, with the place of the error. */
export class TraceError extends Error {
  override readonly name = 'TraceError';

  constructor(source: string, line: number, message: string) {
    super(`${source}:${line}: ${message}`);
  }
}
