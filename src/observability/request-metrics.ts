import type { Routed } from '../framework/observer.ts';
import type { Observer } from '../framework/plugin.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { PickerMetrics } from './metrics.ts';
import type { Tally } from './tally.ts';

/** One client's series, found once and then only counted in. */
interface Series {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly requestSeconds: Tally;
  readonly ttftSeconds: Tally;
  readonly tpotSeconds: Tally;
  readonly ntpotSeconds: Tally;
  readonly requestBytes: Tally;
  readonly inputTokens: Tally;
  readonly outputTokens: Tally;
  readonly cachedTokens: Tally;
  requests: number;
  running: number;
  failed: number;
}

/** Counts every request into the picker's metrics. Counters are carried over when the page is asked for. */
export function requestMetrics(metrics: PickerMetrics): Observer & { flush(): void } {
  const all = new Map<string, Series>();
  const firstTokens = new WeakMap<Routed, number>();
  const hitRatio = metrics.prefixHitRatio.child('', {
    plugin_name: 'approx-prefix-cache-producer',
    plugin_type: 'approx-prefix-cache-producer',
  });
  const seriesOf = (request: InferenceRequest): Series => {
    const key = `${request.model}\n${request.fairnessId}\n${request.priority}`;
    let series = all.get(key);
    if (series === undefined) {
      series = newSeries(metrics, request);
      // Past the cap on names many keys share one series of `other`.
      if (all.size < 10_000) all.set(key, series);
    }
    return series;
  };
  return {
    onRouted({ request, cachedTokens }) {
      const series = seriesOf(request);
      series.requests += 1;
      series.running += 1;
      series.requestBytes.observe(request.bodyBytes);
      if (request.promptTokens > 0) hitRatio.observe(cachedTokens / request.promptTokens);
    },
    onFirstToken(routed, at) {
      firstTokens.set(routed, at);
      if (routed.firstTokenSeen)
        seriesOf(routed.request).ttftSeconds.observe((at - routed.at) / 1000);
    },
    onDone(routed, at, outcome, usage) {
      const series = seriesOf(routed.request);
      series.running -= 1;
      if (outcome === 'failed') series.failed += 1;
      const seconds = (at - routed.at) / 1000;
      series.requestSeconds.observe(seconds);
      if (usage === undefined) return;
      series.inputTokens.observe(usage.promptTokens);
      series.outputTokens.observe(usage.completionTokens);
      series.cachedTokens.observe(usage.cachedTokens ?? 0);
      if (usage.completionTokens > 0) series.ntpotSeconds.observe(seconds / usage.completionTokens);
      const firstToken = firstTokens.get(routed);
      if (!routed.firstTokenSeen || firstToken === undefined || usage.completionTokens < 2) return;
      series.tpotSeconds.observe((at - firstToken) / 1000 / (usage.completionTokens - 1));
    },
    flush() {
      for (const series of all.values()) {
        metrics.running.set(series.labels, series.running);
        if (series.requests > 0) metrics.requests.inc(series.labels, series.requests);
        if (series.failed > 0) {
          metrics.errors.inc({ ...series.labels, error_code: 'ModelServerError' }, series.failed);
        }
        series.requests = 0;
        series.failed = 0;
      }
    },
  };
}

function newSeries(
  metrics: PickerMetrics,
  { model, fairnessId, priority }: InferenceRequest,
): Series {
  const name = metrics.bounded(model);
  const labels = {
    model_name: name,
    target_model_name: name,
    fairness_id: metrics.bounded(fairnessId),
    priority,
  };
  const key = Object.values(labels).join('\n');
  return {
    labels,
    requestSeconds: metrics.requestSeconds.child(key, labels),
    ttftSeconds: metrics.ttftSeconds.child(key, { ...labels, streaming: 'true' }),
    tpotSeconds: metrics.tpotSeconds.child(key, labels),
    ntpotSeconds: metrics.ntpotSeconds.child(key, labels),
    requestBytes: metrics.requestBytes.child(key, labels),
    inputTokens: metrics.inputTokens.child(key, labels),
    outputTokens: metrics.outputTokens.child(key, labels),
    cachedTokens: metrics.cachedTokens.child(key, labels),
    requests: 0,
    running: 0,
    failed: 0,
  };
}
