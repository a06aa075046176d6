import type { Registry } from 'prom-client';
import type { Endpoint } from '../../../framework/endpoint.ts';
import type { ProfileRun, SchedulingContext } from '../../../framework/scheduling.ts';
import type { JournalSubscriber } from '../../../picker/events/journal.ts';
import type { PickerPlan } from '../../../picker/plan/picker-plan.ts';
import {
  type AffinityConfig,
  affinityOutcome,
  PREFIX_AFFINITY_FILTER,
} from '../../../plugins/filters/prefix-cache-affinity.ts';
import {
  SERVED_MODEL_FILTER,
  SERVED_MODEL_OUTCOMES,
  type ServedModelConfig,
  servedModelOutcome,
} from '../../../plugins/filters/served-model.ts';
import type { PickerMetrics } from '../metrics.ts';
import { counters, eppPage } from '../page/family.ts';
import type { Cell } from '../page/tally.ts';

/** What a filter was given, and what it left. */
interface Filtered {
  readonly endpoints: readonly Endpoint[];
  readonly kept: readonly Endpoint[];
}

/** Counts what one filter decided. */
type FilterCounter = (filtered: Filtered, context: SchedulingContext) => void;

/** Makes a counter for the filter with this name and these parameters; its series begin at 0. */
type CounterMaker = (name: string, config: unknown) => FilterCounter;

/** Counts what filters decide whose type has metrics in the reference. */
export function filterSubscriber({ registry }: PickerMetrics, plan: PickerPlan): JournalSubscriber {
  const makers: ReadonlyMap<string, CounterMaker> = new Map([
    [PREFIX_AFFINITY_FILTER, affinityCounters(registry)],
    [SERVED_MODEL_FILTER, servedModelCounters(registry)],
  ]);
  const countersOf = ({ plugins }: PickerPlan): ReadonlyMap<string, FilterCounter> =>
    new Map(
      plugins.flatMap(({ name, definition, config }) => {
        const make = makers.get(definition.type);
        return make === undefined ? [] : [[name, make(name, config)]];
      }),
    );
  let filters = countersOf(plan);

  function count({ profile, kept, context }: ProfileRun, candidates: readonly Endpoint[]): void {
    let endpoints = candidates;
    for (const [at, left] of kept.entries()) {
      filters.get(profile.filters[at]?.name ?? '')?.({ endpoints, kept: left }, context);
      endpoints = left;
    }
  }

  return {
    onDecision: ({ decision, candidates }) => {
      if (filters.size === 0 || decision === undefined) return;
      for (const { run } of decision.profiles) if (run !== undefined) count(run, candidates);
    },
    onAdopted: (next) => {
      filters = countersOf(next);
    },
  };
}

type CellOf = (...values: readonly string[]) => Cell;

/** Cells by the values of these labels, each made once. */
function cellsOf(
  registry: Registry,
  name: string,
  { help, labels }: { readonly help: string; readonly labels: readonly string[] },
): CellOf {
  const family = eppPage(registry)(counters(), name, help, labels);
  const cells = new Map<string, Cell>();
  return (...values) => {
    const key = JSON.stringify(values);
    const cell =
      cells.get(key) ??
      family.child(Object.fromEntries(labels.map((label, at) => [label, values[at] ?? ''])));
    cells.set(key, cell);
    return cell;
  };
}

const OUTCOME = ['plugin_name', 'outcome'];

function affinityCounters(registry: Registry): CounterMaker {
  const help = 'Decisions of filters for the endpoints that hold a prompt, by outcome.';
  const name = 'prefix_cache_affinity_filter_decisions_total';
  const decisions = cellsOf(registry, name, { help, labels: OUTCOME });
  return (plugin, config) => (filtered, context) => {
    const outcome = affinityOutcome(config as AffinityConfig, filtered, context);
    decisions(plugin, outcome).value += 1;
  };
}

function servedModelCounters(registry: Registry): CounterMaker {
  const of = (what: string, help: string, labels: readonly string[]): CellOf =>
    cellsOf(registry, `served_model_filter_${what}_total`, { help, labels });
  const names = ['plugin_name'];
  const decisions = of(
    'decisions',
    'Decisions of filters for the endpoints that list a model, by outcome.',
    OUTCOME,
  );
  const candidates = of(
    'candidates',
    'Endpoints that filters for the endpoints that list a model looked at.',
    names,
  );
  const unlisted = of(
    'unlisted_candidates',
    'Endpoints without a list of models that filters for the endpoints that list a model looked at.',
    names,
  );
  return (name, config) => {
    const outcomes = new Map(
      SERVED_MODEL_OUTCOMES.map((outcome) => [outcome, decisions(name, outcome)]),
    );
    const [seen, unknown] = [candidates(name), unlisted(name)];
    return (filtered, { request: { model } }) => {
      const found = servedModelOutcome(config as ServedModelConfig, filtered, model);
      (outcomes.get(found.outcome) as Cell).value += 1;
      if (found.outcome === 'not_applicable') return;
      seen.value += filtered.endpoints.length;
      unknown.value += found.unlisted;
    };
  };
}
