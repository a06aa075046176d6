import type { Endpoint } from '../../../framework/endpoint.ts';
import type { ProfileRun } from '../../../framework/scheduling.ts';
import type { JournalSubscriber } from '../../../picker/events/journal.ts';
import type { PickerPlan } from '../../../picker/plan/picker-plan.ts';
import {
  type AffinityConfig,
  type AffinityOutcome,
  affinityOutcome,
  PREFIX_AFFINITY_FILTER,
} from '../../../plugins/filters/prefix-cache-affinity.ts';
import type { PickerMetrics } from '../metrics.ts';
import { counters, eppPage } from '../page/family.ts';
import type { Cell } from '../page/tally.ts';

/** Counts what filters that keep to the endpoints with the prompt in their cache decide. */
export function affinitySubscriber(
  { registry }: PickerMetrics,
  plan: PickerPlan,
): JournalSubscriber {
  const name = 'prefix_cache_affinity_filter_decisions_total';
  const help = 'Decisions of filters for the endpoints that hold a prompt, by outcome.';
  const family = eppPage(registry)(counters(), name, help, ['plugin_name', 'outcome']);
  const cells = new Map<string, Cell>();
  let filters = filtersOf(plan);

  function cellOf(plugin: string, outcome: AffinityOutcome): Cell {
    const key = `${plugin}\n${outcome}`;
    const found = cells.get(key) ?? family.child({ plugin_name: plugin, outcome });
    cells.set(key, found);
    return found;
  }

  function count({ profile, kept, context }: ProfileRun, candidates: readonly Endpoint[]): void {
    let endpoints = candidates;
    for (const [at, left] of kept.entries()) {
      const plugin = profile.filters[at]?.name ?? '';
      const parameters = filters.get(plugin);
      if (parameters !== undefined) {
        const outcome = affinityOutcome(parameters, { endpoints, kept: left }, context);
        cellOf(plugin, outcome).value += 1;
      }
      endpoints = left;
    }
  }

  return {
    onDecision: ({ decision, candidates }) => {
      if (filters.size === 0 || decision === undefined) return;
      for (const { run } of decision.profiles) if (run !== undefined) count(run, candidates);
    },
    onAdopted: (next) => {
      filters = filtersOf(next);
    },
  };
}

/** The parameters of each, by its name in the configuration. */
function filtersOf({ plugins }: PickerPlan): ReadonlyMap<string, AffinityConfig> {
  return new Map(
    plugins.flatMap(({ name, definition, config }) =>
      definition.type === PREFIX_AFFINITY_FILTER ? [[name, config as AffinityConfig]] : [],
    ),
  );
}
