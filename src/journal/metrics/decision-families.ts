import type { Registry } from 'prom-client';
import type { Endpoint } from '../../framework/endpoint.ts';
import { HIT_BYTES, HIT_RATIO, SCHEDULER_SECONDS } from './bucket-bounds.ts';
import {
  counters,
  createNameCap,
  endpointLabels,
  eppPage,
  type Family,
  histograms,
  OTHER,
} from './family.ts';
import type { Cell, Tally } from './tally.ts';

/** Models with a label value in `scheduler_attempts_total`; each occurs once for each endpoint. */
const ATTEMPT_MODELS_MAX = 100;
/** Clients choose the models that a rule for all models applies to: the combinations are capped. */
const REWRITES_MAX = 1000;

export type ExtensionPoint = 'Filter' | 'Scorer' | 'Picker';

export interface PluginIdentity {
  readonly extensionPoint: ExtensionPoint;
  readonly type: string;
  readonly name: string;
}

/** The metrics of the decision itself. */
export interface DecisionFamilies {
  readonly schedulerSeconds: Tally;
  /** A new one for each call; the page shows equal identities as one. */
  pluginSeconds(plugin: PluginIdentity): Tally;
  /** `endpoint` is undefined for an attempt that failed. */
  attempt(targetModel: string, endpoint: Endpoint | undefined): Cell;
  forgetEndpoint(endpoint: Endpoint): void;
  /** Requests for `model` that a rule gave to `targetModel`. */
  rewrite(rule: string, model: string, targetModel: string): Cell;
  readonly hitRatio: Family<Tally>;
  readonly hitBytes: Family<Tally>;
  /** Both only for responses whose server reported the tokens it found. */
  readonly predictedCachedTokens: Cell;
  readonly reportedCachedTokens: Cell;
  readonly pollErrors: Family<Cell>;
}

export function createDecisionFamilies(registry: Registry): DecisionFamilies {
  const page = eppPage(registry);
  const plugins = ['plugin_name', 'plugin_type'];
  const pluginSeconds = page(
    histograms(SCHEDULER_SECONDS),
    'plugin_duration_seconds',
    'Time one plugin took in one scheduling cycle.',
    ['extension_point', ...plugins],
  );
  const scheduler = page(
    histograms(SCHEDULER_SECONDS),
    'scheduler_e2e_duration_seconds',
    'Time one whole scheduling cycle took.',
    [],
  );
  const attempts = page(
    counters(),
    'scheduler_attempts_total',
    'Scheduling cycles by their outcome and the endpoint picked.',
    ['status', 'target_model_name', 'endpoint_name', 'namespace', 'port'],
  );
  return {
    schedulerSeconds: scheduler.child({}),
    pluginSeconds: ({ extensionPoint, type, name }) =>
      pluginSeconds.child({
        extension_point: extensionPoint,
        plugin_type: type,
        plugin_name: name,
      }),
    ...attemptTable(attempts),
    rewrite: createRewriteCells(registry),
    hitRatio: page(
      histograms(HIT_RATIO),
      'prefix_indexer_hit_ratio',
      'Share of the prompt the picked endpoint was thought to hold in its prefix cache.',
      plugins,
    ),
    hitBytes: page(
      histograms(HIT_BYTES),
      'prefix_indexer_hit_bytes',
      'Bytes of the prompt the picked endpoint was thought to hold in its prefix cache.',
      plugins,
    ),
    ...cachedTokenCounts(registry),
    pollErrors: page(
      counters(),
      'datalayer_poll_errors_total',
      'Polls of an endpoint that failed.',
      ['source_type'],
    ),
  };
}

type CachedTokenCounts = Pick<DecisionFamilies, 'predictedCachedTokens' | 'reportedCachedTokens'>;

function cachedTokenCounts(registry: Registry): CachedTokenCounts {
  const page = eppPage(registry);
  return {
    predictedCachedTokens: page(
      counters(),
      'prefix_predicted_tokens_total',
      'Prompt tokens thought to be in the prefix cache of the endpoint picked.',
      [],
    ).child({}),
    reportedCachedTokens: page(
      counters(),
      'prefix_reported_tokens_total',
      'Prompt tokens the model server found in its prefix cache, of the same requests.',
      [],
    ).child({}),
  };
}

/** Counts by endpoint and model. Those of a removed endpoint go, or churn would fill memory. */
function attemptTable(family: Family<Cell>): Pick<DecisionFamilies, 'attempt' | 'forgetEndpoint'> {
  const byEndpoint = new Map<Endpoint['id'] | undefined, Map<string, Cell>>();
  const models = createNameCap(ATTEMPT_MODELS_MAX);

  function create(model: string, endpoint: Endpoint | undefined): Cell {
    if (endpoint === undefined) {
      return family.child({ status: 'failure', target_model_name: model });
    }
    return family.child({
      status: 'success',
      target_model_name: model,
      ...endpointLabels(endpoint.id),
      port: portOf(endpoint.address),
    });
  }

  return {
    attempt(targetModel, endpoint) {
      let byModel = byEndpoint.get(endpoint?.id);
      if (byModel === undefined) {
        byModel = new Map();
        byEndpoint.set(endpoint?.id, byModel);
      }
      const model = models.admit(targetModel);
      let cell = byModel.get(model);
      if (cell === undefined) {
        cell = create(model, endpoint);
        byModel.set(model, cell);
      }
      return cell;
    },
    forgetEndpoint({ id }) {
      for (const cell of byEndpoint.get(id)?.values() ?? []) family.drop(cell);
      byEndpoint.delete(id);
    },
  };
}

function portOf(address: string): string {
  return address.slice(address.lastIndexOf(':') + 1);
}

/** Counts by the rule, the model that the client asked for, and the model that serves. */
function createRewriteCells(
  registry: Registry,
): (rule: string, model: string, targetModel: string) => Cell {
  const family = eppPage(registry)(
    counters(),
    'model_rewrite_decisions_total',
    'Requests whose model a rule decided.',
    ['model_rewrite_name', 'model_name', 'target_model'],
  );
  const models = createNameCap(REWRITES_MAX);
  const cells = new Map<string, Cell>();

  function find(rule: string, model: string, targetModel: string): Cell {
    const key = [rule, model, targetModel].join('\n');
    const found = cells.get(key);
    if (found !== undefined) return found;
    if (cells.size >= REWRITES_MAX && rule !== OTHER) return find(OTHER, OTHER, OTHER);
    const labels = { model_rewrite_name: rule, model_name: model, target_model: targetModel };
    const cell = family.child(labels);
    cells.set(key, cell);
    return cell;
  }

  return (rule, model, targetModel) => find(rule, models.admit(model), targetModel);
}
