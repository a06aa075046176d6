import type { Outcome, Routed, Usage } from '../../framework/observer.ts';
import type { Observer } from '../../framework/plugin.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { PickerMetrics } from './metrics.ts';
import type { RequestSeries } from './request-series.ts';

/** Label `error_code` of a request that had an endpoint. The first is the reference's; the second it does not have. */
const MODEL_SERVER_ERROR = 'ModelServerError';
const CLIENT_CLOSED = 'ClientClosed';

/** Bytes of prompt a token is taken for, as in the reference. */
const BYTES_PER_TOKEN = 4;

interface Open {
  readonly series: RequestSeries;
  bodyBytes: number;
  firstTokenAt: Millis | undefined;
}

/**
 * Counts requests as they are routed and end. Times run from the pick. Durations are of completed requests only;
 * token counts are the model server's own and absent where the response body is not shown to us.
 */
export function requestMetrics(metrics: PickerMetrics): Observer {
  // As many as requests in flight: every routed request ends once.
  const open = new Map<Routed, Open>();
  return {
    onRouted(routed) {
      const { model: targetModel, rewrite, fairnessId, priority, bodyBytes } = routed.request;
      const model = rewrite?.requestedModel ?? targetModel;
      const series = metrics.requests.of({ model, targetModel, fairnessId, priority });
      series.requests.value += 1;
      series.running.value += 1;
      open.set(routed, { series, bodyBytes, firstTokenAt: undefined });
      recordHit(metrics, routed);
      if (rewrite?.rule !== undefined) {
        metrics.decisions.rewrite(rewrite.rule, model, targetModel).value += 1;
      }
    },
    onBodyRead(routed, { bodyBytes }: InferenceRequest) {
      const entry = open.get(routed);
      if (entry !== undefined) entry.bodyBytes = bodyBytes;
    },
    onFirstToken(routed, at) {
      const entry = open.get(routed);
      if (entry === undefined || entry.firstTokenAt !== undefined) return;
      entry.firstTokenAt = at;
      const { streamingTtftSeconds, wholeTtftSeconds } = entry.series;
      const tally = routed.request.streaming ? streamingTtftSeconds : wholeTtftSeconds;
      tally.observe((at - routed.at) / 1000);
    },
    onDone(routed, at, outcome, usage, responseBytes) {
      const entry = open.get(routed);
      if (entry === undefined) return;
      open.delete(routed);
      entry.series.running.value -= 1;
      entry.series.requestBytes.observe(entry.bodyBytes);
      recordOutcome(entry.series, outcome);
      if (outcome === 'completed') recordTimes(entry, routed, at, usage);
      if (responseBytes !== undefined) entry.series.responseBytes.observe(responseBytes);
      if (usage === undefined) return;
      recordTokens(entry.series, usage);
      recordPrediction(metrics, routed, usage);
    },
    onEndpointRemoved: (endpoint) => metrics.decisions.forgetEndpoint(endpoint),
  };
}

function recordHit(metrics: PickerMetrics, { request, cachedTokens }: Routed): void {
  const hits = metrics.prefixHits;
  if (hits === undefined || request.promptTokens === 0) return;
  hits.ratio.observe(cachedTokens / request.promptTokens);
  hits.bytes.observe(cachedTokens * BYTES_PER_TOKEN);
}

/** Both only where the server says what it found, so that one over the other is how far predictions can be trusted. */
function recordPrediction(
  { prefixHits, decisions }: PickerMetrics,
  { cachedTokens }: Routed,
  usage: Usage,
): void {
  if (prefixHits === undefined || usage.cachedTokens === undefined) return;
  decisions.predictedCachedTokens.value += cachedTokens;
  decisions.reportedCachedTokens.value += usage.cachedTokens;
}

function recordOutcome(series: RequestSeries, outcome: Outcome): void {
  if (outcome === 'failed') series.error(MODEL_SERVER_ERROR).value += 1;
  if (outcome === 'aborted') series.error(CLIENT_CLOSED).value += 1;
}

/** The reference's rules: NTPOT over all output tokens; TPOT for streams of two tokens or more, without the first. */
function recordTimes(
  { series, firstTokenAt }: Open,
  routed: Routed,
  at: Millis,
  usage: Usage | undefined,
): void {
  const seconds = (at - routed.at) / 1000;
  series.durationSeconds.observe(seconds);
  const tokens = usage?.completionTokens ?? 0;
  if (tokens > 0) series.ntpotSeconds.observe(seconds / tokens);
  if (routed.request.streaming && firstTokenAt !== undefined && tokens > 1) {
    series.tpotSeconds.observe((at - firstTokenAt) / 1000 / (tokens - 1));
  }
}

/** A zero is not recorded, but for cached tokens, where it is news. */
function recordTokens(series: RequestSeries, usage: Usage): void {
  if (usage.promptTokens > 0) series.inputTokens.observe(usage.promptTokens);
  if (usage.completionTokens > 0) series.outputTokens.observe(usage.completionTokens);
  if (usage.cachedTokens !== undefined) series.cachedTokens.observe(usage.cachedTokens);
}
