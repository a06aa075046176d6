import type { Registry } from 'prom-client';
import { CellTable } from '../page/cell-table.ts';
import type { ShowFormerNames } from '../page/deprecated-names.ts';
import { counters, eppPage } from '../page/family.ts';
import { createNameCap, OTHER } from '../page/name-cap.ts';
import type { SeriesLimit } from '../page/series-limit.ts';
import type { Cell } from '../page/tally.ts';

/** Clients choose the models that a rule for all models applies to: the combinations are capped. */
const REWRITES_MAX = 1000;
const REWRITE_LABELS = ['model_rewrite_name', 'model_name', 'target_model'];

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
