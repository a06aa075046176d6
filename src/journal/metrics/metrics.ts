import { DEFAULT_PREFIX_PRODUCER, prefixMatchKey } from '../../framework/cycle-facts.ts';
import type { Endpoint } from '../../framework/endpoint.ts';
import { ERRORS, type RoutingErrorCode } from '../../framework/error.ts';
import type { Observer, Routed } from '../../framework/observer.ts';
import type { Producer } from '../../framework/plugin.ts';
import { DEFAULT_FLOW, type RequestLabels } from '../../framework/request.ts';
import { RequestMap } from '../../framework/request-map.ts';
import type { Millis, Network } from '../../framework/runtime.ts';
import type { PrefixSource } from '../../picker/cores/scheduling-core.ts';
import type { PluginInstances } from '../../picker/plan/create-plugins.ts';
import { Registry } from '../../runtime/prom-client.ts';
import { formerNameHelp, formerNames, formerNamesOn } from './page/deprecated-names.ts';
import { type MetricSample, showMetric } from './page/family.ts';
import { KeptNames } from './page/kept-names.ts';
import { MetricsPage } from './page/metrics-page.ts';
import { type PageFormat, PLAIN_TEXT } from './page/page-format.ts';
import { SeriesLimit, type SeriesLimitOptions } from './page/series-limit.ts';
import type { Cell } from './page/tally.ts';
import { createDecisionFamilies, type DecisionFamilies } from './requests/decision-families.ts';
import {
  createRequestSeries,
  type RequestSeries,
  type RequestSeriesTable,
  seriesKeyOf,
} from './requests/request-series.ts';

interface BuildInfo {
  readonly commit: string;
  readonly buildRef: string;
}

/** A routed request that has not ended. */
export interface MeasuredRequest {
  readonly routed: Routed;
  readonly series: RequestSeries;
  bodyBytes: number;
  /** Whether the answer is a stream, or the request asks for one. */
  streams: boolean;
  firstTokenAt: Millis | undefined;
  /** When the last piece of its stream came. */
  lastTokenAt: Millis;
  /** The address that serves it, where the proxy says so. */
  servedBy: string | undefined;
}

/** Errors of requests whose model may not exist. */
const CLIENTS_FAULT: ReadonlySet<RoutingErrorCode> = new Set<RoutingErrorCode>([
  'invalid-request',
  'unknown-model',
  'body-too-large',
]);

/** Labels of a request that could not be read: no model, and the default flow. */
const UNREAD = { model: '', targetModel: '', fairnessId: DEFAULT_FLOW, priority: 0 };

const OK = 200;
const UNKNOWN_BUILD: BuildInfo = { commit: 'unknown', buildRef: 'unknown' };

export interface PickerMetricsOptions extends SeriesLimitOptions {
  readonly build?: BuildInfo;
  /** Shows the reference's former names, too. */
  readonly deprecated?: boolean | undefined;
  /** The most fairness ids with a label value of their own; 0: none. */
  readonly fairnessIdsMax?: number | undefined;
}

/**
 * The metrics of one picker, in a registry of its own. The metrics have the reference's names, so
 * that dashboards of the reference show them.
 */
export class PickerMetrics {
  readonly registry: Registry = new Registry();
  readonly requests: RequestSeriesTable;
  readonly decisions: DecisionFamilies;
  readonly deprecated: boolean;
  /** Models that have label values of their own, whatever models clients name. */
  readonly keptModels: KeptNames = new KeptNames();
  /** Bounds the lines of all families. */
  readonly seriesLimit: SeriesLimit;
  readonly #page: MetricsPage;
  readonly #pollErrors = new Map<string, Cell>();
  /** The requests that have not ended. */
  readonly open: RequestMap<MeasuredRequest> = new RequestMap<MeasuredRequest>();
  #prefixIndexes: readonly PrefixIndex[] = [];
  #plugins: PluginInstances = new Map();

  constructor({
    build = UNKNOWN_BUILD,
    deprecated = false,
    fairnessIdsMax,
    ...limits
  }: PickerMetricsOptions = {}) {
    const { registry, keptModels } = this;
    this.deprecated = deprecated;
    this.#page = new MetricsPage(registry, deprecated ? formerNames : undefined);
    this.seriesLimit = new SeriesLimit(limits);
    const folded = registerLimit(registry, this.seriesLimit);
    const requests = { onFolded: folded.requests, fairnessIdsMax, deprecated, keptModels };
    this.requests = createRequestSeries(registry, this.seriesLimit, requests);
    const show = formerNamesOn(registry, deprecated);
    const decisions = { onFolded: folded, show, keptModels };
    this.decisions = createDecisionFamilies(registry, this.seriesLimit, decisions);
    const labels = { build_ref: build.buildRef, commit: build.commit };
    this.#gauge('info', 'The build that is running.', () => [{ labels, value: 1 }]);
  }

  /** The page's bytes in order, made in slices. Scrapes at the same time share them. */
  pageBytes(format: PageFormat = PLAIN_TEXT): Promise<readonly Uint8Array[]> {
    this.seriesLimit.dropIdle();
    return this.#page.bytes(format);
  }

  async page(format: PageFormat = PLAIN_TEXT): Promise<string> {
    return Buffer.concat(await this.pageBytes(format)).toString();
  }

  /** Counts a request that was refused: undefined where it was before it could be picked for. */
  countError(code: RoutingErrorCode, request: RequestLabels | undefined): void {
    const newNames = request === undefined || !CLIENTS_FAULT.has(code);
    const key = request === undefined ? UNREAD : seriesKeyOf(request);
    const series = this.requests.of(key, { newNames });
    series.error(ERRORS[code].label).value += 1;
  }

  /** `sourceType` is the data source's type name. */
  countPollError(sourceType: string): void {
    let cell = this.#pollErrors.get(sourceType);
    if (cell === undefined) {
      cell = this.decisions.pollErrors.child({ source_type: sourceType });
      this.#pollErrors.set(sourceType, cell);
    }
    cell.value += 1;
  }

  /**
   * Shows the prefix indexes among a picker's plugins, and what its source expects to be cached,
   * instead of those shown so far.
   */
  observePrefixIndexes(picker: PickerOfIndexes, snapshot: () => readonly Endpoint[]): void {
    this.#prefixIndexes = prefixIndexes(picker.observers());
    this.#plugins = picker.plugins();
    this.decisions.prefixHits.follow(picker.prefixSource());
    if (this.#prefixIndexes.length === 0) return;
    const name = 'prefix_indexer_size';
    if (this.registry.getSingleMetric(`llm_d_epp_${name}`) !== undefined) return;
    this.#gauge(name, 'Blocks in a prefix index, all endpoints together.', () =>
      this.#prefixIndexes.map((index) => ({
        labels: { plugin_name: index.name, plugin_type: this.#typeOf(index) },
        value: snapshot().reduce((sum, endpoint) => sum + index.size(endpoint), 0),
      })),
    );
  }

  /** An index that no configuration names is the default one. */
  #typeOf({ name }: PrefixIndex): string {
    return this.#plugins.get(name)?.plugin.definition.type ?? DEFAULT_PREFIX_PRODUCER;
  }

  #gauge(name: string, what: string, samples: () => readonly MetricSample[]): void {
    const shown = { name: `llm_d_epp_${name}`, help: `[ALPHA] ${what}`, type: 'gauge' } as const;
    showMetric(this.registry, shown, samples);
    if (!this.deprecated) return;
    const help = `[ALPHA] ${formerNameHelp(name, what)}`;
    showMetric(this.registry, { ...shown, name: `inference_extension_${name}`, help }, samples);
  }
}

type FoldedKind = 'requests' | 'attempts' | 'rewrites';

/**
 * Shows the limit on the page, and how often a label value had no room for a line of its own.
 * Returns the functions that count these by kind.
 */
function registerLimit(
  registry: Registry,
  limit: SeriesLimit,
): Readonly<Record<FoldedKind, () => void>> {
  const counts: Record<FoldedKind, number> = { requests: 0, attempts: 0, rewrites: 0 };
  const gauge = (name: string, help: string, read: () => number): void =>
    showMetric(registry, { name: `pointsman_metrics_${name}`, help, type: 'gauge' }, () => [
      { labels: {}, value: read() },
    ]);
  gauge('series', 'Lines taken by labels that clients and rules choose.', () => limit.lines);
  gauge('series_limit', 'The most such lines.', () => limit.linesMax);
  const help = 'Counts that went to the label `other` because there was no room for another line.';
  showMetric(registry, { name: 'pointsman_metrics_folded_total', help, type: 'counter' }, () =>
    Object.entries(counts).map(([kind, value]) => ({ labels: { kind }, value })),
  );
  const count = (kind: FoldedKind) => (): void => void (counts[kind] += 1);
  return { requests: count('requests'), attempts: count('attempts'), rewrites: count('rewrites') };
}

/** The part of a picker through which its prefix indexes are found. */
interface PickerOfIndexes {
  observers(): readonly Observer[];
  plugins(): PluginInstances;
  prefixSource(): PrefixSource | undefined;
}

interface PrefixIndex {
  readonly name: string;
  size(endpoint: Endpoint): number;
}

const KEY_PREFIX = prefixMatchKey('').name;

/** The prefix indexes among a picker's observers: those that provide a prefix match and a size. */
export function prefixIndexes(observers: readonly Observer[]): readonly PrefixIndex[] {
  return observers.flatMap((observer) => {
    const source: Partial<Producer> = observer;
    const key = source.facts?.find(({ key: { name } }) => name.startsWith(KEY_PREFIX))?.key.name;
    if (key === undefined || !hasSize(observer)) return [];
    return [{ name: key.slice(KEY_PREFIX.length), size: (endpoint) => observer.size(endpoint) }];
  });
}

function hasSize(observer: object): observer is { size(endpoint: Endpoint): number } {
  return 'size' in observer && typeof observer.size === 'function';
}

/**
 * The same network; polls that fail or whose status is not 200 count under the type of their data
 * source, or under `sourceType`.
 */
export function countPolls(network: Network, metrics: PickerMetrics, sourceType: string): Network {
  return {
    ...network,
    get(url, options) {
      const count = (): void => metrics.countPollError(options.sourceType ?? sourceType);
      const answer = network.get(url, options);
      answer.then(({ status }) => {
        if (status !== OK) count();
      }, count);
      return answer;
    },
  };
}
