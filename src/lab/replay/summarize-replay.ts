import type { RequestResult } from '../run-summary/run-result.ts';
import type { OpenLoopResult } from './open-loop-options.ts';
import type { Sent } from './sent-request.ts';

/** What a live run has besides the figures that it shares with a simulation. Times in milliseconds. */
export interface ReplayFigures {
  /** Requests in the trace; those that a stop kept from being due are in none of the others. */
  readonly planned: number;
  readonly due: number;
  /** Cut by the stop, and left out of all figures. */
  readonly unfinished: number;
  /** Not sent, for too many were under way. */
  readonly refused: number;
  /** By kind, with one of them to begin with. */
  readonly errors: readonly {
    readonly kind: string;
    readonly count: number;
    readonly first: string;
  }[];
  readonly underWayMax: number;
  /** How late requests left us. It is in all figures; above some milliseconds this machine has no room left. */
  readonly late: { readonly p50: number; readonly p99: number; readonly max: number };
  /** Between the arrivals of tokens of one answer. */
  readonly tokenGap: { readonly p50: number; readonly p99: number };
  /** Tokens by the trace, and by the server of the same requests; 0 where it does not count. */
  readonly tokens: {
    readonly answers: number;
    readonly promptAsked: number;
    readonly promptCounted: number;
    readonly outputAsked: number;
    readonly outputCounted: number;
  };
  /** Whether any answer said how much of its prompt was found in a cache. */
  readonly cacheReported: boolean;
  readonly durationMs: number;
  readonly stopped: boolean;
  /** Requests by the server that answered, in the order of `RequestResult.server`. */
  readonly servers: readonly { readonly name: string; readonly requests: number }[];
}

export interface ReplaySummary {
  /** As a simulation has them, by time. Sizes are those that the server counted, where it does. */
  readonly requests: readonly RequestResult[];
  readonly figures: ReplayFigures;
}

export function summarizeReplay(run: OpenLoopResult, planned: number): ReplaySummary {
  const over = run.sent
    .filter((each) => !isUnfinished(each))
    .sort((a, b) => a.request.atMs - b.request.atMs);
  const names = [...new Set(over.flatMap((each) => endOf(each)?.servedBy ?? []))].sort(naturally);
  const requests = over.map((each) => resultOf(each, names));
  const late = Float64Array.from(run.sent, ({ lateMs }) => lateMs).sort();
  const at = (share: number): number => late[Math.floor(share * (late.length - 1))] ?? 0;
  return {
    requests,
    figures: {
      planned,
      due: run.sent.length,
      unfinished: run.sent.length - over.length,
      refused: over.filter(({ end }) => end === 'refused').length,
      errors: errorsOf(over),
      underWayMax: run.underWayMax,
      late: { p50: at(0.5), p99: at(0.99), max: at(1) },
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

function endOf({ end }: Sent): Exclude<Sent['end'], string> | undefined {
  return typeof end === 'string' ? undefined : end;
}

function isUnfinished(each: Sent): boolean {
  return each.end === 'under way' || endOf(each)?.lost?.kind === 'stopped';
}

function resultOf(each: Sent, names: readonly string[]): RequestResult {
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

function errorsOf(over: readonly Sent[]): ReplayFigures['errors'] {
  const lost = over.flatMap((each) => endOf(each)?.lost ?? []);
  return [...Map.groupBy(lost, ({ kind }) => kind)]
    .map(([kind, all]) => ({ kind, count: all.length, first: all[0]?.message ?? '' }))
    .sort((a, b) => b.count - a.count);
}

function tokensOf(over: readonly Sent[]): ReplayFigures['tokens'] {
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
