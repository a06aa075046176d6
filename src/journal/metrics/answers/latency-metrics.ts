import type { Outcome, Routed, Usage } from '../../../framework/observer.ts';
import { RequestMap } from '../../../framework/request-map.ts';
import type { Millis } from '../../../framework/runtime.ts';
import type { JournalSubscriber } from '../../../picker/events/journal.ts';
import type { PickerPlan } from '../../../picker/plan/picker-plan.ts';
import type { PickerMetrics } from '../metrics.ts';
import { DURATION_SECONDS, TPOT_SECONDS } from '../page/bucket-bounds.ts';
import { formerNamesOn } from '../page/deprecated-names.ts';
import { counters, eppPage, type Family, gauges, histograms } from '../page/family.ts';
import { createNameCap } from '../page/name-cap.ts';
import type { Cell, Tally } from '../page/tally.ts';

/** The plugin with which the reference shows these; here the core predicts. */
const PRODUCER = 'predicted-latency-producer';
/** Models with label values of their own: each pair of them has some 90 lines. */
const MODELS_MAX = 100;
const LABELS = ['plugin_name', 'plugin_type', 'model_name', 'target_model_name'];

/** Seconds in which a quantity was predicted, seen and wanted, of requests for one model. */
interface Quantity {
  readonly predicted: Tally;
  readonly violations: Cell;
  readonly last: Readonly<Record<'predicted' | 'seen' | 'wanted' | 'violated', Cell>>;
}

interface LatencySeries {
  readonly ttft: Quantity;
  readonly tpot: Quantity;
}

/**
 * Shows latencies that were predicted at the pick beside those seen and wanted, while the
 * configuration names the reference's plugin for them. `inference_request_metric` has the figures
 * of the last request.
 */
export class LatencySubscriber implements JournalSubscriber {
  readonly #families: LatencyFamilies;
  readonly #models: ReturnType<typeof createNameCap>;
  readonly #all = new Map<string, LatencySeries>();
  readonly #firstTokens = new RequestMap<Millis>();
  /** The name of the reference's plugin; undefined where the configuration has none. */
  #plugin: string | undefined;

  constructor(metrics: PickerMetrics, plan: PickerPlan) {
    this.#families = latencyFamilies(metrics);
    this.#models = createNameCap(MODELS_MAX, metrics.keptModels);
    this.#plugin = producerOf(plan);
  }

  onRouted(routed: Routed): void {
    if (this.#plugin === undefined) return;
    const { ttft, tpot } = this.#seriesOf(routed);
    predict(ttft, routed.expectedTtftMs, routed.request.ttftSloMs);
    predict(tpot, routed.expectedTpotMs, routed.request.tpotSloMs);
  }

  onFirstToken(routed: Routed, at: Millis): void {
    if (this.#plugin === undefined) return;
    this.#firstTokens.set(routed, at);
    const ttftMs = at - routed.at + (routed.heldMs ?? 0);
    see(this.#seriesOf(routed).ttft, ttftMs, routed.request.ttftSloMs);
  }

  onDone(routed: Routed, at: Millis, outcome: Outcome, usage: Usage | undefined): void {
    const firstTokenAt = this.#firstTokens.delete(routed);
    if (firstTokenAt === undefined) return;
    const after = (usage?.completionTokens ?? 0) - 1;
    if (outcome !== 'completed' || after < 1) return;
    see(this.#seriesOf(routed).tpot, (at - firstTokenAt) / after, routed.request.tpotSloMs);
  }

  onAdopted(plan: PickerPlan): void {
    this.#plugin = producerOf(plan);
  }

  #seriesOf({ request: { model: targetModel, rewrite } }: Routed): LatencySeries {
    const target = this.#models.admit(targetModel);
    const model = this.#models.admit(rewrite?.requestedModel ?? targetModel);
    const key = `${model}\n${target}`;
    const names = { plugin: this.#plugin ?? PRODUCER, model, target };
    const series = this.#all.get(key) ?? latencySeries(this.#families, names);
    this.#all.set(key, series);
    return series;
  }
}

function producerOf({ plugins }: PickerPlan): string | undefined {
  return plugins.find(({ definition }) => definition.type === PRODUCER)?.name;
}

function predict({ predicted, last }: Quantity, ms: Millis | undefined, wanted?: Millis): void {
  if (ms === undefined) return;
  predicted.observe(ms / 1000);
  last.predicted.value = ms / 1000;
  last.wanted.value = (wanted ?? 0) / 1000;
}

function see({ violations, last }: Quantity, ms: Millis, wanted: Millis | undefined): void {
  last.seen.value = ms / 1000;
  const isViolated = wanted !== undefined && ms > wanted;
  last.violated.value = isViolated ? 1 : 0;
  if (isViolated) violations.value += 1;
}

interface LatencyFamilies {
  readonly ttfts: Family<Tally>;
  readonly tpots: Family<Tally>;
  readonly violations: Family<Cell>;
  readonly lasts: Family<Cell>;
}

function latencyFamilies({ registry, deprecated }: PickerMetrics): LatencyFamilies {
  const page = eppPage(registry);
  const show = formerNamesOn(registry, deprecated);
  const shown: typeof page = (family, name, help, labels) => {
    page(family, name, help, labels);
    const former = labels.filter((label) => !label.startsWith('plugin_'));
    show(family, name, [`inference_objective_${name}`], former);
    return family;
  };
  const typed = [...LABELS, 'type'];
  const late =
    'Requests that missed their objective, by model, target model and kind of objective.';
  const ofLast =
    'Figures of the last request by type: times to the first token and for each further one, as measured and as predicted, in seconds; 1 for an objective that it missed.';
  return {
    ttfts: shown(
      histograms(DURATION_SECONDS),
      'request_predicted_ttft_seconds',
      'Seconds to the first token as predicted at the pick, by model and target model.',
      LABELS,
    ),
    tpots: shown(
      histograms(TPOT_SECONDS),
      'request_predicted_tpot_seconds',
      'Seconds for each further token as predicted at the pick, by model and target model.',
      LABELS,
    ),
    violations: shown(counters(), 'request_slo_violation_total', late, typed),
    lasts: shown(gauges(), 'inference_request_metric', ofLast, typed),
  };
}

interface SeriesNames {
  readonly plugin: string;
  readonly model: string;
  readonly target: string;
}

function latencySeries(
  { ttfts, tpots, violations, lasts }: LatencyFamilies,
  { plugin, model, target }: SeriesNames,
): LatencySeries {
  const names = { model_name: model, target_model_name: target };
  const labels = { plugin_name: plugin, plugin_type: PRODUCER, ...names };
  const quantity = (type: 'ttft' | 'tpot', predicted: Tally): Quantity => ({
    predicted,
    violations: violations.child({ ...labels, type }),
    last: {
      predicted: lasts.child({ ...labels, type: `predicted_${type}` }),
      seen: lasts.child({ ...labels, type }),
      wanted: lasts.child({ ...labels, type: `${type}_slo_threshold` }),
      violated: lasts.child({ ...labels, type: `${type}_slo_violation` }),
    },
  });
  return {
    ttft: quantity('ttft', ttfts.child(labels)),
    tpot: quantity('tpot', tpots.child(labels)),
  };
}
