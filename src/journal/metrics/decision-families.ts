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

const PLUGIN_LABELS = ['plugin_name', 'plugin_type'];

export type ExtensionPoint = 'Filter' | 'Scorer' | 'Picker';

interface PluginIdentity {
  readonly extensionPoint: ExtensionPoint;
  readonly type: string;
  readonly name: string;
}

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
  const counter = (name: string, help: string, labels: readonly string[] = []): Family<Cell> =>
    page(counters(), name, help, labels);
  const seconds = (name: string, help: string, labels: readonly string[]): Family<Tally> =>
    page(histograms(SCHEDULER_SECONDS), name, help, labels);
  const hits = (bounds: readonly number[], unit: string, what: string): Family<Tally> => {
    const help = `${what} of the prompt the picked endpoint was thought to hold in its prefix cache.`;
    return page(histograms(bounds), `prefix_indexer_hit_${unit}`, help, PLUGIN_LABELS);
  };
  const pluginSeconds = seconds(
    'plugin_duration_seconds',
    'Time one plugin took in one scheduling cycle.',
    ['extension_point', ...PLUGIN_LABELS],
  );
  const cycle = 'Time one whole scheduling cycle took.';
  const predicted = 'Prompt tokens thought to be in the prefix cache of the endpoint picked.';
  const reported =
    'Prompt tokens the model server found in its prefix cache, of the same requests.';
  const polls = 'Polls of an endpoint that failed.';
  return {
    schedulerSeconds: seconds('scheduler_e2e_duration_seconds', cycle, []).child({}),
    pluginSeconds: ({ extensionPoint: extension_point, type: plugin_type, name: plugin_name }) =>
      pluginSeconds.child({ extension_point, plugin_type, plugin_name }),
    ...createAttemptCells(registry),
    rewrite: createRewriteCells(registry),
    hitRatio: hits(HIT_RATIO, 'ratio', 'Share'),
    hitBytes: hits(HIT_BYTES, 'bytes', 'Bytes'),
    predictedCachedTokens: counter('prefix_predicted_tokens_total', predicted).child({}),
    reportedCachedTokens: counter('prefix_reported_tokens_total', reported).child({}),
    pollErrors: counter('datalayer_poll_errors_total', polls, ['source_type']),
  };
}

/** Counts by endpoint and model. Those of a removed endpoint go, or churn would fill memory. */
function createAttemptCells(
  registry: Registry,
): Pick<DecisionFamilies, 'attempt' | 'forgetEndpoint'> {
  const family = eppPage(registry)(
    counters(),
    'scheduler_attempts_total',
    'Scheduling cycles by their outcome and the endpoint picked.',
    ['status', 'target_model_name', 'endpoint_name', 'namespace', 'port'],
  );
  const byEndpoint = new Map<Endpoint['id'] | undefined, Map<string, Cell>>();
  const models = createNameCap(ATTEMPT_MODELS_MAX);

  function create(model: string, endpoint: Endpoint | undefined): Cell {
    if (endpoint === undefined) {
      return family.child({ status: 'failure', target_model_name: model });
    }
    const { id, address } = endpoint;
    const port = address.slice(address.lastIndexOf(':') + 1);
    const labels = { status: 'success', target_model_name: model, port };
    return family.child({ ...labels, ...endpointLabels(id) });
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
