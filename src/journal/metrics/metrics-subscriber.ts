import { RoutingError } from '../../framework/error.ts';
import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { DecisionEvent, JournalSubscriber } from '../../picker/events/journal.ts';
import { Histogram, type Registry } from '../../runtime/prom-client.ts';
import type { MeasuredRequest, PickerMetrics } from './metrics.ts';
import { SCHEDULER_SECONDS, TTFT_SECONDS } from './page/bucket-bounds.ts';
import type { SeenTrace } from './page/tally.ts';
import { type RequestSeries, seriesKeyOf } from './requests/request-series.ts';

/** `error_code` of requests that had an endpoint. */
export const MODEL_SERVER_ERROR = 'ModelServerError';

/** The trace of a request that is written; undefined for a request without one. */
export type SeenTraceOf = (request: InferenceRequest) => SeenTrace | undefined;

/**
 * Counts decisions and requests. Times run from when the request could be decided: they contain the
 * wait for its endpoint. Only completed requests have durations. Tokens are the model server's
 * count, if the picker is shown the response body. The latest request with a trace is the exemplar
 * of its bucket of the times to the first token, in all, and per token.
 */
export function metricsSubscriber(
  metrics: PickerMetrics,
  seenTraceOf: SeenTraceOf = () => undefined,
): JournalSubscriber {
  // No larger than the number of requests in flight: every routed request ends once.
  const { open } = metrics;
  const prepareSeconds = createPrepareHistogram(metrics.registry);
  const holdSeconds = createHoldHistogram(metrics.registry);
  return {
    onPrepared: (_request, preparedMs) => prepareSeconds.observe(preparedMs / 1000),
    onDecision: (event) => countDecision(metrics, event),
    onRouted(routed) {
      open.set(routed, recordRouted(metrics, routed));
      metrics.decisions.prefixHits.record(routed);
      if (routed.heldMs !== undefined) holdSeconds.observe(routed.heldMs / 1000);
    },
    onBodyRead(routed, { bodyBytes }) {
      const entry = open.get(routed);
      if (entry !== undefined) entry.bodyBytes = bodyBytes;
    },
    onStream(routed) {
      const entry = open.get(routed);
      if (entry !== undefined) entry.streams = true;
    },
    onFirstToken(routed, at) {
      const entry = open.get(routed);
      if (entry === undefined || entry.firstTokenAt !== undefined) return;
      recordFirstToken(entry, at, seenTraceOf(routed.request));
    },
    onToken: (routed, at) => recordToken(open.get(routed), at),
    onServed(routed, address) {
      const entry = open.get(routed);
      if (entry !== undefined) entry.servedBy = address;
    },
    onDone(routed, at, outcome, usage, responseBytes) {
      const entry = open.delete(routed);
      if (entry === undefined) return;
      recordEnd(entry, outcome, responseBytes);
      const seen = seenTraceOf(routed.request);
      if (outcome === 'completed') recordTimes(entry, { at, usage, seen });
      if (usage === undefined) return;
      recordTokens(entry.series, usage);
      recordPrediction(metrics, routed, usage);
    },
    onEndpointRemoved: (endpoint) => metrics.decisions.forgetEndpoint(endpoint),
  };
}

function recordRouted({ requests, decisions }: PickerMetrics, routed: Routed): MeasuredRequest {
  const { rewrite, bodyBytes } = routed.request;
  const key = seriesKeyOf(routed.request);
  const series = requests.of(key);
  series.requests.value += 1;
  series.running.value += 1;
  if (rewrite?.rule !== undefined) {
    decisions.rewrite(rewrite.rule, key.model, key.targetModel).value += 1;
  }
  return {
    routed,
    series,
    bodyBytes,
    streams: routed.request.streaming,
    firstTokenAt: undefined,
    lastTokenAt: 0,
    servedBy: undefined,
  };
}

function recordFirstToken(entry: MeasuredRequest, at: Millis, seen: SeenTrace | undefined): void {
  entry.firstTokenAt = at;
  entry.lastTokenAt = at;
  const { series, routed, streams } = entry;
  const { streamingTtftSeconds, wholeTtftSeconds } = series;
  const tally = streams ? streamingTtftSeconds : wholeTtftSeconds;
  tally.observe(secondsSinceArrival(routed, at), seen);
}

function recordToken(entry: MeasuredRequest | undefined, at: Millis): void {
  if (entry === undefined) return;
  entry.series.itlSeconds.observe((at - entry.lastTokenAt) / 1000);
  entry.lastTokenAt = at;
}

function secondsSinceArrival({ at: pickedAt, heldMs = 0 }: Routed, at: Millis): number {
  return (at - pickedAt + heldMs) / 1000;
}

function createPrepareHistogram(registry: Registry): Histogram {
  return new Histogram({
    name: 'pointsman_prepare_duration_seconds',
    help: 'Time that requests waited for tokens, or for an answer from another process.',
    buckets: [...SCHEDULER_SECONDS],
    registers: [registry],
  });
}

function createHoldHistogram(registry: Registry): Histogram {
  return new Histogram({
    name: 'pointsman_hold_duration_seconds',
    help: 'Time that requests waited at the picker until their endpoint could begin them.',
    buckets: [...TTFT_SECONDS],
    registers: [registry],
  });
}

/** A request without any candidate makes no attempt. */
function countDecision({ decisions }: PickerMetrics, event: DecisionEvent): void {
  const { request, context, decision, durationMs } = event;
  if (context === undefined) return;
  decisions.prefixHits.recordBest(event);
  if (!isAttempt(event)) return;
  if (durationMs !== undefined) decisions.schedulerSeconds.observe(durationMs / 1000);
  const primary = decision?.primary;
  const target = primary?.kind === 'picked' ? primary.targets[0]?.endpoint : undefined;
  decisions.attempt(request.model, target).value += 1;
}

/**
 * What admission, screening or the cache gate refuses is no attempt of the scheduler, as in the
 * reference, whose users are alerted by the share of attempts that fail.
 */
function isAttempt({ decision, error }: DecisionEvent): boolean {
  if (decision !== undefined || !(error instanceof RoutingError)) return true;
  return error.code === 'unknown-profile';
}

/** Counts both or neither: their quotient shows how accurate the predictions are. */
function recordPrediction(
  { decisions }: PickerMetrics,
  { cachedTokens }: Routed,
  usage: Usage,
): void {
  if (!decisions.prefixHits.isCounted || usage.cachedTokens === undefined) return;
  decisions.predictedCachedTokens.value += cachedTokens;
  decisions.reportedCachedTokens.value += usage.cachedTokens;
}

function recordEnd(
  { series, bodyBytes }: MeasuredRequest,
  outcome: Outcome,
  responseBytes: number | undefined,
): void {
  series.running.value -= 1;
  series.requestBytes.observe(bodyBytes);
  if (responseBytes !== undefined) series.responseBytes.observe(responseBytes);
  if (outcome === 'failed') series.error(MODEL_SERVER_ERROR).value += 1;
  if (outcome === 'aborted') series.aborted.value += 1;
}

/**
 * NTPOT is over all output tokens, TPOT over those after the first of a stream, as in the
 * reference.
 */
function recordTimes(
  { series, firstTokenAt, routed, streams }: MeasuredRequest,
  {
    at,
    usage,
    seen,
  }: {
    readonly at: Millis;
    readonly usage: Usage | undefined;
    readonly seen: SeenTrace | undefined;
  },
): void {
  const seconds = secondsSinceArrival(routed, at);
  series.durationSeconds.observe(seconds, seen);
  const tokens = usage?.completionTokens ?? 0;
  if (tokens > 0) series.ntpotSeconds.observe(seconds / tokens, seen);
  if (streams && firstTokenAt !== undefined && tokens > 1) {
    series.tpotSeconds.observe((at - firstTokenAt) / 1000 / (tokens - 1), seen);
  }
}

/** Zeros are not recorded, except for cached tokens: none found is a result. */
function recordTokens(series: RequestSeries, usage: Usage): void {
  if (usage.promptTokens > 0) series.inputTokens.observe(usage.promptTokens);
  if (usage.completionTokens > 0) series.outputTokens.observe(usage.completionTokens);
  if (usage.cachedTokens !== undefined) series.cachedTokens.observe(usage.cachedTokens);
}
