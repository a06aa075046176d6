import type { RequestResult } from '../run-summary/run-result.ts';
import { quantile, sorted } from '../run-summary/statistics.ts';
import type { OpenLoopResult, SentRequest } from './open-loop.ts';

/** Figures of a live run that a simulation does not have. Times are in milliseconds. */
export interface ReplayFigures {
  /** Requests in the trace. Those that were not due before a stop are not counted below. */
  readonly planned: number;
  readonly due: number;
  /** Cut by the stop, and not part of any figure. */
  readonly unfinished: number;
  /** Not sent, because too many were under way. */
  readonly refused: number;
  /** By kind, each with the message of its first error. */
  readonly errors: readonly { kind: string; count: number; first: string }[];
  readonly underWayMax: number;
  /** How late requests were sent, which all times contain. A few ms mean a busy machine. */
  readonly late: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Times between the tokens of one answer. */
  readonly tokenGap: { readonly p50: number; readonly p99: number };
  /** Tokens of the same requests by the trace and by the server's count; 0 if it does not count. */
  readonly tokens: Readonly<
    Record<'answers' | `${'prompt' | 'output'}${'Asked' | 'Counted'}`, number>
  >;
  /** Whether any answer reported how much of its prompt was in a cache. */
  readonly cacheReported: boolean;
  readonly durationMs: number;
  readonly stopped: boolean;
  /** Requests by the server that answered; `RequestResult.server` is an index into this. */
  readonly servers: readonly { readonly name: string; readonly requests: number }[];
}

export interface ReplaySummary {
  /** In order of time, with the sizes that the server counted where it reports them. */
  readonly requests: readonly RequestResult[];
  readonly figures: ReplayFigures;
}

/** The requests that have ended, in the order of their arrival, and the figures of the replay. */
export function summarizeReplay(run: OpenLoopResult, planned: number): ReplaySummary {
  const over = run.sent
    .filter((each) => !isUnfinished(each))
    .sort((a, b) => a.request.atMs - b.request.atMs);
  const names = [...new Set(over.flatMap((each) => endOf(each)?.servedBy ?? []))].sort(naturally);
  const requests = over.map((each) => resultOf(each, names));
  const late = sorted(run.sent.map(({ lateMs }) => lateMs));
  const lateAt = (share: number): number => (late.length === 0 ? 0 : quantile(late, share));
  return {
    requests,
    figures: {
      planned,
      due: run.sent.length,
      unfinished: run.sent.length - over.length,
      refused: over.filter(({ end }) => end === 'refused').length,
      errors: errorsOf(over),
      underWayMax: run.underWayMax,
      late: { p50: lateAt(0.5), p99: lateAt(0.99), max: lateAt(1) },
      tokenGap: { p50: run.tokenGaps.quantile(0.5), p99: run.tokenGaps.quantile(0.99) },
      tokens: tokensOf(over),
      cacheReported: over.some((each) => endOf(each)?.counted?.cachedTokens !== undefined),
      durationMs: run.durationMs,
      stopped: run.stopped,
      servers: names.map((name, index) => ({
        name,
        requests: requests.filter(({ server }) => server === index).length,
      })),
    },
  };
}

function endOf({ end }: SentRequest): Exclude<SentRequest['end'], string> | undefined {
  return typeof end === 'string' ? undefined : end;
}

function isUnfinished(each: SentRequest): boolean {
  return each.end === 'under way' || endOf(each)?.lost?.kind === 'stopped';
}

function resultOf(each: SentRequest, names: readonly string[]): RequestResult {
  const { request, ttftMs, e2eMs } = each;
  const end = endOf(each);
  const { promptTokens, outputTokens } = end?.counted ?? request;
  return {
    request: { ...request, promptTokens, outputTokens },
    server: names.indexOf(end?.servedBy ?? ''),
    attempts: each.end === 'refused' ? 0 : 1,
    ttftMs,
    e2eMs,
    cachedTokens: end?.counted?.cachedTokens ?? 0,
    completed: end !== undefined && end.lost === undefined,
  };
}

function errorsOf(over: readonly SentRequest[]): ReplayFigures['errors'] {
  const lost = over.flatMap((each) => endOf(each)?.lost ?? []);
  return [...Map.groupBy(lost, ({ kind }) => kind)]
    .map(([kind, all]) => ({ kind, count: all.length, first: all[0]?.message ?? '' }))
    .sort((a, b) => b.count - a.count);
}

function tokensOf(over: readonly SentRequest[]): ReplayFigures['tokens'] {
  const tokens = { answers: 0, promptAsked: 0, promptCounted: 0, outputAsked: 0, outputCounted: 0 };
  for (const each of over) {
    const end = endOf(each);
    if (end?.counted === undefined || end.lost !== undefined) continue;
    tokens.answers += 1;
    tokens.promptAsked += each.request.promptTokens;
    tokens.promptCounted += end.counted.promptTokens;
    tokens.outputAsked += each.request.outputTokens;
    tokens.outputCounted += end.counted.outputTokens;
  }
  return tokens;
}

function naturally(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}
