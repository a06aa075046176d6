import type { Registry } from 'prom-client';
import { CellTable } from '../page/cell-table.ts';
import { counters, eppPage } from '../page/family.ts';
import type { KeptNames } from '../page/kept-names.ts';
import { createNameCap, OTHER } from '../page/name-cap.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell } from '../page/tally.ts';
import type { ModelCellsOptions } from './attempt-cells.ts';

/** Clients choose the models that a rule for all models applies to: the combinations are capped. */
const REWRITES_MAX = 1000;
const REWRITE_LABELS = ['model_rewrite_name', 'model_name', 'target_model'];

const NAME = 'model_rewrite_decisions_total';

/** Counts by the rule, the model that the client asked for, and the model that serves. */
export class RewriteCells {
  readonly #cells: CellTable;
  readonly #onFolded: () => void;
  readonly #models: ReturnType<typeof createNameCap>;
  readonly #keptModels: KeptNames;

  constructor(
    registry: Registry,
    limit: SeriesLimit,
    { onFolded, show, keptModels }: ModelCellsOptions,
  ) {
    this.#models = createNameCap(REWRITES_MAX, keptModels);
    this.#keptModels = keptModels;
    const help = 'Requests whose model a rule of an InferenceModelRewrite decided.';
    const family = eppPage(registry)(counters(), NAME, help, REWRITE_LABELS);
    show(family, NAME, [`inference_extension_${NAME}`], REWRITE_LABELS);
    this.#cells = new CellTable(family, limit);
    this.#onFolded = onFolded;
    limit.register({ drop: (period, most) => this.#drop(period, most) });
  }

  of(rule: string, model: string, targetModel: string): Cell {
    return this.#find(rule, this.#models.admit(model), targetModel);
  }

  #find(rule: string, model: string, targetModel: string): Cell {
    const key = [rule, model, targetModel].join('\n');
    const found = this.#cells.find(key);
    if (found !== undefined) return found;
    const labels = { model_rewrite_name: rule, model_name: model, target_model: targetModel };
    const isKept = rule === OTHER || this.#keptModels.has(model);
    if (isKept) return this.#cells.makeAnyway(key, labels);
    const made = this.#cells.size < REWRITES_MAX ? this.#cells.make(key, labels) : undefined;
    if (made !== undefined) return made;
    this.#onFolded();
    return this.#find(OTHER, OTHER, OTHER);
  }

  /** See `SeriesHolder.drop`. */
  #drop(period: number, most: number): number {
    const dropped = this.#cells.drop(period, most);
    if (dropped > 0) {
      this.#models.retain([...this.#cells.keys()].map((key) => key.split('\n')[1] ?? ''));
    }
    return dropped;
  }
}
