import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import { portOf } from '../../../framework/values/server-address.ts';
import { CellTable } from '../page/cell-table.ts';
import type { ShowFormerNames } from '../page/deprecated-names.ts';
import {
  counters,
  endpointLabels,
  eppPage,
  type Family,
  type MetricLabels,
} from '../page/family.ts';
import type { KeptNames } from '../page/kept-names.ts';
import { createNameCap, OTHER } from '../page/name-cap.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell } from '../page/tally.ts';

/** Models with a label value in `scheduler_attempts_total`; each occurs once for each endpoint. */
const MODELS_MAX = 100;
const NAME = 'scheduler_attempts_total';
const HELP = 'Scheduling cycles by their outcome and the endpoint picked.';
const LABELS = ['status', 'target_model_name', 'endpoint_name', 'namespace', 'port'];
const FORMER_LABELS = ['status', 'target_model_name', 'pod_name', 'namespace', 'port'];

/** For counts that have labels of models. */
export interface ModelCellsOptions {
  /** Called for each count that has no line of its own because there is no room for more. */
  readonly onFolded: () => void;
  readonly show: ShowFormerNames;
  readonly keptModels: KeptNames;
}

/** Counts by endpoint and model. Counts of a removed endpoint go, or churn would fill memory. */
export class AttemptCells {
  readonly #family: Family<Cell>;
  readonly #limit: SeriesLimit;
  readonly #onFolded: () => void;
  readonly #byEndpoint = new Map<Endpoint['id'] | undefined, CellTable>();
  readonly #models: ReturnType<typeof createNameCap>;

  constructor(
    registry: Registry,
    limit: SeriesLimit,
    { onFolded, show, keptModels }: ModelCellsOptions,
  ) {
    this.#models = createNameCap(MODELS_MAX, keptModels);
    this.#family = eppPage(registry)(counters(), NAME, HELP, LABELS);
    show(this.#family, NAME, [`inference_extension_${NAME}`], FORMER_LABELS);
    this.#limit = limit;
    this.#onFolded = onFolded;
    limit.register({ drop: (period, most) => this.#drop(period, most) });
  }

  /** `endpoint` is undefined for an attempt that failed. */
  attempt(targetModel: string, endpoint: Endpoint | undefined): Cell {
    let cells = this.#byEndpoint.get(endpoint?.id);
    if (cells === undefined) {
      cells = new CellTable(this.#family, this.#limit);
      this.#byEndpoint.set(endpoint?.id, cells);
    }
    return this.#find(cells, this.#models.admit(targetModel), endpoint);
  }

  forgetEndpoint({ id }: Endpoint): void {
    this.#byEndpoint.get(id)?.dropAll();
    this.#byEndpoint.delete(id);
  }

  /** The cell of all models without one is always made: there are as many as endpoints. */
  #find(cells: CellTable, model: string, endpoint: Endpoint | undefined): Cell {
    const found = cells.find(model);
    if (found !== undefined) return found;
    const labels = labelsOf(model, endpoint);
    const made = model === OTHER ? cells.makeAnyway(model, labels) : cells.make(model, labels);
    if (made !== undefined) return made;
    this.#onFolded();
    return this.#find(cells, OTHER, endpoint);
  }

  #drop(period: number, most: number): number {
    const tables = [...this.#byEndpoint.values()];
    let dropped = 0;
    for (const cells of tables) dropped += cells.drop(period, most - dropped);
    if (dropped > 0) this.#models.retain(tables.flatMap((each) => [...each.keys()]));
    return dropped;
  }
}

function labelsOf(target_model_name: string, endpoint: Endpoint | undefined): MetricLabels {
  if (endpoint === undefined) return { status: 'failure', target_model_name };
  const { id, address } = endpoint;
  const port = portOf(address);
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
