import type { Decision } from '../../../framework/scheduling.ts';
import type { JournalSubscriber } from '../../../picker/events/journal.ts';
import type { PickerPlan } from '../../../picker/plan/picker-plan.ts';
import type { PickerMetrics } from '../metrics.ts';
import { formerNamesOn } from '../page/deprecated-names.ts';
import { counters, eppPage } from '../page/family.ts';
import { createNameCap } from '../page/name-cap.ts';
import type { Cell } from '../page/tally.ts';

/** Models with a label value of their own; each has four lines. */
const MODELS_MAX = 100;
/** The profile handlers whose decisions the reference counts. */
const HANDLERS: ReadonlySet<string> = new Set(['disagg-profile-handler', 'pd-profile-handler']);
const LABELS = ['model_name', 'decision_type'];

/** Counts on which servers prompts and media of requests are computed, by the stages decided. */
export function disaggregationSubscriber(
  { registry, deprecated, keptModels }: PickerMetrics,
  plan: PickerPlan,
): JournalSubscriber {
  const name = 'disagg_decision_total';
  const help = 'Requests by the stages that servers of their own compute.';
  const labels = ['plugin_name', 'plugin_type', ...LABELS];
  const family = eppPage(registry)(counters(), name, help, labels);
  const former = [name, 'pd_decision_total'].map((each) => `llm_d_inference_scheduler_${each}`);
  const show = formerNamesOn(registry, deprecated);
  show(family, name, former, LABELS);
  show(family, name, ['llm_d_epp_pd_decision_total'], labels);
  const models = createNameCap(MODELS_MAX, keptModels);
  const cells = new Map<string, Cell>();
  let handler = handlerOf(plan);

  function cellOf(model: string, decision: string): Cell {
    const key = `${handler?.plugin_name}\n${model}\n${decision}`;
    const found = cells.get(key);
    if (found !== undefined) return found;
    const made = family.child({ ...handler, model_name: model, decision_type: decision });
    cells.set(key, made);
    return made;
  }

  return {
    onDecision: ({ request, decision }) => {
      if (handler === undefined || decision?.primary.kind !== 'picked') return;
      cellOf(models.admit(request.model || 'unknown'), stagesOf(decision)).value += 1;
    },
    onAdopted: (next) => {
      handler = handlerOf(next);
    },
  };
}

function handlerOf({
  handler: { name, definition },
}: PickerPlan): { readonly plugin_name: string; readonly plugin_type: string } | undefined {
  if (!HANDLERS.has(definition.type)) return undefined;
  return { plugin_name: name, plugin_type: definition.type };
}

function stagesOf({ prefill, encoders = [] }: Decision): string {
  if (encoders.length > 0) return prefill ? 'encode-prefill-decode' : 'encode-decode';
  return prefill ? 'prefill-decode' : 'decode-only';
}
