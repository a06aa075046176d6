import type { Registry } from 'prom-client';
import { counters, eppPage } from './family.ts';
import { createNameCap, OTHER } from './name-cap.ts';
import type { Cell } from './tally.ts';

/** Clients choose the models that a rule for all of them is asked about, so the combinations are capped. */
const CELLS_MAX = 1000;

/** Counts by the rule that gave a request to another model, the model asked for and the one that serves. */
export function createRewriteCells(
  registry: Registry,
): (rule: string, model: string, targetModel: string) => Cell {
  const family = eppPage(registry)(
    counters(),
    'model_rewrite_decisions_total',
    'Requests whose model a rule decided.',
    ['model_rewrite_name', 'model_name', 'target_model'],
  );
  const models = createNameCap(CELLS_MAX);
  const cells = new Map<string, Cell>();

  function find(rule: string, model: string, targetModel: string): Cell {
    const key = [rule, model, targetModel].join('\n');
    const found = cells.get(key);
    if (found !== undefined) return found;
    if (cells.size >= CELLS_MAX && rule !== OTHER) return find(OTHER, OTHER, OTHER);
    const labels = { model_rewrite_name: rule, model_name: model, target_model: targetModel };
    const cell = family.child(labels);
    cells.set(key, cell);
    return cell;
  }

  return (rule, model, targetModel) => find(rule, models.admit(model), targetModel);
}
