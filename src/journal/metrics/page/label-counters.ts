import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { ShowFormerNames } from './deprecated-names.ts';
import { counters, endpointLabels, eppPage, type Family, type MetricLabels } from './family.ts';
import { createNameCap, OTHER } from './name-cap.ts';
import type { SeriesLimit } from './series-limit.ts';
import type { Cell } from './tally.ts';

/** Models with a label value in `scheduler_attempts_total`; each occurs once for each endpoint. */
const ATTEMPT_MODELS_MAX = 100;
/** Clients choose the models that a rule for all models applies to: the combinations are capped. */
const REWRITES_MAX = 1000;
const REWRITE_LABELS = ['model_rewrite_name', 'model_name', 'target_model'];

/** A counter of one line, and the period in which it was last used. */
interface UsedCell {
  readonly cell: Cell;
  usedIn: number;
}

/** The cells of one family by key, with a bound for all of them. */
class CellTable {
  readonly #cells = new Map<string, UsedCell>();
  readonly #family: Family<Cell>;
  readonly #limit: SeriesLimit;

  constructor(family: Family<Cell>, limit: SeriesLimit) {
    this.#family = family;
    this.#limit = limit;
  }

  get size(): number {
    return this.#cells.size;
  }

  keys(): Iterable<string> {
    return this.#cells.keys();
  }

  find(key: string): Cell | undefined {
    const found = this.#cells.get(key);
    if (found !== undefined) found.usedIn = this.#limit.period;
    return found?.cell;
  }

  /** Undefined where the limit has no room; `always` makes it even so. */
  make(key: string, labels: MetricLabels, always: boolean): Cell | undefined {
    if (!this.#limit.take(1)) {
      if (!always) return undefined;
      this.#limit.free(-1);
    }
    const cell = this.#family.child(labels);
    this.#cells.set(key, { cell, usedIn: this.#limit.period });
    return cell;
  }

  /** See `SeriesHolder.drop`. */
  drop(period: number, most: number): number {
    let dropped = 0;
    for (const [key, { cell, usedIn }] of this.#cells) {
      if (dropped === most) break;
      if (usedIn >= period) continue;
      this.#forget(key, cell);
      dropped += 1;
    }
    return dropped;
  }

  dropAll(): void {
    for (const [key, { cell }] of this.#cells) this.#forget(key, cell);
  }

  #forget(key: string, cell: Cell): void {
    this.#family.drop(cell);
    this.#cells.delete(key);
    this.#limit.free(1);
  }
}

interface AttemptCells {
  attempt(targetModel: string, endpoint: Endpoint | undefined): Cell;
  forgetEndpoint(endpoint: Endpoint): void;
}

/** Counts by endpoint and model. Counts of a removed endpoint go, or churn would fill memory. */
export function createAttemptCells(
  registry: Registry,
  limit: SeriesLimit,
  { onFolded, show }: { readonly onFolded: () => void; readonly show: ShowFormerNames },
): AttemptCells {
  const name = 'scheduler_attempts_total';
  const family = eppPage(registry)(
    counters(),
    name,
    'Scheduling cycles by their outcome and the endpoint picked.',
    ['status', 'target_model_name', 'endpoint_name', 'namespace', 'port'],
  );
  const former = ['status', 'target_model_name', 'pod_name', 'namespace', 'port'];
  show(family, name, [`inference_extension_${name}`], former);
  const byEndpoint = new Map<Endpoint['id'] | undefined, CellTable>();
  const models = createNameCap(ATTEMPT_MODELS_MAX);

  /** The cell of all models without one is always made: there are as many as endpoints. */
  function find(cells: CellTable, model: string, endpoint: Endpoint | undefined): Cell {
    const cell = cells.find(model) ?? cells.make(model, labelsOf(model, endpoint), model === OTHER);
    if (cell !== undefined) return cell;
    onFolded();
    return find(cells, OTHER, endpoint);
  }

  limit.register({
    drop(period, most) {
      let dropped = 0;
      for (const cells of byEndpoint.values()) dropped += cells.drop(period, most - dropped);
      if (dropped > 0) models.retain([...byEndpoint.values()].flatMap((each) => [...each.keys()]));
      return dropped;
    },
  });
  return {
    attempt(targetModel, endpoint) {
      let cells = byEndpoint.get(endpoint?.id);
      if (cells === undefined) {
        cells = new CellTable(family, limit);
        byEndpoint.set(endpoint?.id, cells);
      }
      return find(cells, models.admit(targetModel), endpoint);
    },
    forgetEndpoint({ id }) {
      byEndpoint.get(id)?.dropAll();
      byEndpoint.delete(id);
    },
  };
}

function labelsOf(target_model_name: string, endpoint: Endpoint | undefined): MetricLabels {
  if (endpoint === undefined) return { status: 'failure', target_model_name };
  const { id, address } = endpoint;
  const port = address.slice(address.lastIndexOf(':') + 1);
  const { endpoint_name, namespace } = endpointLabels(id);
  // As in the reference: the port says the rank here, and other metrics name it.
  const pod_name = endpoint_name.replace(/-rank-\d+$/, '');
  return {
    status: 'success',
    target_model_name,
    port,
    namespace,
    endpoint_name: pod_name,
    pod_name,
  };
}

/** Counts by the rule, the model that the client asked for, and the model that serves. */
export function createRewriteCells(
  registry: Registry,
  limit: SeriesLimit,
  { onFolded, show }: { readonly onFolded: () => void; readonly show: ShowFormerNames },
): (rule: string, model: string, targetModel: string) => Cell {
  const family = eppPage(registry)(
    counters(),
    'model_rewrite_decisions_total',
    'Requests whose model a rule decided.',
    REWRITE_LABELS,
  );
  show(
    family,
    'model_rewrite_decisions_total',
    ['inference_extension_model_rewrite_decisions_total'],
    REWRITE_LABELS,
  );
  const models = createNameCap(REWRITES_MAX);
  const cells = new CellTable(family, limit);
  limit.register({
    drop(period, most) {
      const dropped = cells.drop(period, most);
      if (dropped > 0) models.retain([...cells.keys()].map((key) => key.split('\n')[1] ?? ''));
      return dropped;
    },
  });

  function find(rule: string, model: string, targetModel: string): Cell {
    const key = [rule, model, targetModel].join('\n');
    const found = cells.find(key);
    if (found !== undefined) return found;
    const labels = { model_rewrite_name: rule, model_name: model, target_model: targetModel };
    const isOverflow = rule === OTHER;
    const mayMake = cells.size < REWRITES_MAX || isOverflow;
    const made = mayMake ? cells.make(key, labels, isOverflow) : undefined;
    if (made !== undefined) return made;
    onFolded();
    return find(OTHER, OTHER, OTHER);
  }

  return (rule, model, targetModel) => find(rule, models.admit(model), targetModel);
}
