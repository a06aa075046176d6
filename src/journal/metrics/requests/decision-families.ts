import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { SCHEDULER_SECONDS, USUAL_SECONDS } from '../page/bucket-bounds.ts';
import { formerNames, type ShowFormerNames } from '../page/deprecated-names.ts';
import { counters, eppPage, type Family, histograms } from '../page/family.ts';
import type { KeptNames } from '../page/kept-names.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell, Tally } from '../page/tally.ts';
import { AttemptCells } from './attempt-cells.ts';
import { PrefixHits } from './prefix-hits.ts';
import { RewriteCells } from './rewrite-cells.ts';

const PLUGIN_LABELS = ['plugin_name', 'plugin_type'];

export type ExtensionPoint = 'DataProducer' | 'Filter' | 'Scorer' | 'Picker';

interface PluginIdentity {
  readonly extensionPoint: ExtensionPoint;
  readonly type: string;
  readonly name: string;
}

export interface DecisionFamilies {
  readonly schedulerSeconds: Tally;
  /** A new one for each call; the page shows equal identities as one. */
  pluginSeconds(plugin: PluginIdentity): Tally;
  /** Look-ups of prompts in an index of KV events; a new one for each call, shown as one. */
  lookupSeconds(): Tally;
  /** `endpoint` is undefined for an attempt that failed. */
  attempt(targetModel: string, endpoint: Endpoint | undefined): Cell;
  forgetEndpoint(endpoint: Endpoint): void;
  /** Requests for `model` that a rule gave to `targetModel`. */
  rewrite(rule: string, model: string, targetModel: string): Cell;
  readonly prefixHits: PrefixHits;
  /** Both only for responses whose server reported the tokens it found. */
  readonly predictedCachedTokens: Cell;
  readonly reportedCachedTokens: Cell;
  readonly pollErrors: Family<Cell>;
}

interface DecisionOptions {
  /** Called for each count that has no line of its own because there is no room for more. */
  readonly onFolded: Readonly<Record<'attempts' | 'rewrites', () => void>>;
  readonly show: ShowFormerNames;
  readonly keptModels: KeptNames;
}

/** The families that are counted at each decision, shown on the page of `registry`. */
export function createDecisionFamilies(
  registry: Registry,
  limit: SeriesLimit,
  { onFolded, show, keptModels }: DecisionOptions,
): DecisionFamilies {
  const shown = eppPage(registry);
  /** Their former names have only another prefix. */
  const page: typeof shown = (family, name, help, labels) => {
    shown(family, name, help, labels);
    show(family, name, [`inference_extension_${name}`], labels);
    return family;
  };
  const counter = (name: string, help: string): Cell => page(counters(), name, help, []).child({});
  const seconds = (name: string, help: string, labels: readonly string[]): Family<Tally> =>
    page(histograms(SCHEDULER_SECONDS), name, help, labels);
  const pluginSeconds = seconds(
    'plugin_duration_seconds',
    'Seconds that one plugin took for one request, by extension point, plugin type and name.',
    ['extension_point', ...PLUGIN_LABELS],
  );
  const lookups = createLookups(registry, show);
  const kept = { show, keptModels };
  const attempts = new AttemptCells(registry, limit, { ...kept, onFolded: onFolded.attempts });
  const cycle = 'Seconds that one scheduling cycle took from its beginning to its end.';
  const cycleSeconds = seconds('scheduler_e2e_duration_seconds', cycle, []);
  const rewrites = new RewriteCells(registry, limit, { ...kept, onFolded: onFolded.rewrites });
  const predicted = 'Prompt tokens thought to be in the prefix cache of the endpoint picked.';
  const reported =
    'Prompt tokens the model server found in its prefix cache, of requests with a prediction.';
  return {
    schedulerSeconds: cycleSeconds.child({}),
    pluginSeconds: ({ extensionPoint: extension_point, type: plugin_type, name: plugin_name }) =>
      pluginSeconds.child({ extension_point, plugin_type, plugin_name }),
    lookupSeconds: () => lookups.child({}),
    attempt: (targetModel, endpoint) => attempts.attempt(targetModel, endpoint),
    forgetEndpoint: (endpoint) => attempts.forgetEndpoint(endpoint),
    rewrite: (rule, model, targetModel) => rewrites.of(rule, model, targetModel),
    prefixHits: new PrefixHits(registry, show),
    predictedCachedTokens: counter('prefix_predicted_tokens_total', predicted),
    reportedCachedTokens: counter('prefix_reported_tokens_total', reported),
    pollErrors: createPollErrors(registry, show),
  };
}

function createLookups(registry: Registry, show: ShowFormerNames): Family<Tally> {
  const name = 'kv_cache_index_lookup_latency_seconds';
  const family = eppPage(registry)(
    histograms(USUAL_SECONDS),
    name,
    'Seconds that one look-up in the index of KV blocks took.',
    [],
  );
  show(family, name, formerNames(`llm_d_epp_${name}`), []);
  return family;
}

function createPollErrors(registry: Registry, show: ShowFormerNames): Family<Cell> {
  const [name, labels] = ['datalayer_poll_errors_total', ['source_type']];
  const help = 'Polls of endpoints that failed, by the type of the data source.';
  const family = eppPage(registry)(counters(), name, help, labels);
  show(family, name, [`llm_d_inference_scheduler_${name}`], labels);
  return family;
}
