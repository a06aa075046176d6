import { nearest } from '../../files/reading/nearest.ts';
import { ENGINE_MODEL, IN_FLIGHT, MODELS_IN_FLIGHT } from '../../framework/cycle-facts.ts';
import type { ConfigIssue } from '../../framework/error.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type {
  KnownPlugin,
  PlannedPlugin,
  PlannedScheduler,
} from '../../picker/plan/picker-plan.ts';
import type { DataLayerEntry } from '../schema/data-layer-schema.ts';
import { planJoinedSources } from './plan-joined-sources.ts';
import type { PluginTable } from './plugin-table.ts';

/** Facts that the picker itself provides, without a data source. */
const CORE_FACTS: ReadonlySet<string> = new Set([
  IN_FLIGHT.name,
  MODELS_IN_FLIGHT.name,
  ENGINE_MODEL.name,
]);

interface SourceParts {
  /** The scheduler in place of the profiles: one in a module reads facts, too. */
  readonly scheduler: PlannedScheduler | undefined;
  readonly issues: ConfigIssue[];
  readonly notes: ConfigNote[];
}

/** Checks references, then injects the default sources and the producers of all needed facts. */
export function planSources(
  section: DataLayerEntry,
  table: PluginTable,
  { scheduler, issues, notes }: SourceParts,
): void {
  section.sources.forEach(({ pluginRef, extractors }, index) => {
    const path = `dataLayer.sources[${index}]`;
    const wanted = { kinds: ['source'], wanted: 'a data source' };
    table.resolve(pluginRef, { path: `${path}.pluginRef`, ...wanted });
    extractors.forEach((extractor, at) => {
      // As in the reference, a plugin of any kind: a scorer may stand for its data source.
      table.find(extractor.pluginRef, `${path}.extractors[${at}].pluginRef`);
    });
  });
  planJoinedSources(section, table, notes);
  if (scheduler !== undefined) {
    const asking = { name: scheduler.definition.type, path: 'scheduler.type' };
    for (const fact of factsOfSources(scheduler)) injectProducer(fact, asking, table, issues);
  }
  // Injected producers have needs, too, and come up later in the same iteration.
  for (const plugin of table.plugins()) {
    const asking = { name: plugin.name, path: table.pathOf(plugin.name) };
    for (const fact of factsOfSources(plugin)) injectProducer(fact, asking, table, issues);
  }
}

/** The facts that it needs of data sources. */
function factsOfSources({
  definition,
  config,
}: PlannedPlugin | PlannedScheduler): readonly string[] {
  const needs = definition.needs?.(config as never) ?? [];
  return needs.map(({ name }) => name).filter((name) => !CORE_FACTS.has(name));
}

/** What asks for a fact, as an error names it. */
interface Asking {
  readonly name: string;
  readonly path: string;
}

function injectProducer(
  fact: string,
  asking: Asking,
  table: PluginTable,
  issues: ConfigIssue[],
): void {
  const provided = new Set([...table.plugins()].flatMap((each) => factsOf(each, each)));
  if (provided.has(fact)) return;
  const defaults = new Map([...table.types()].flatMap(defaultFacts));
  const producer = defaults.get(fact);
  if (producer !== undefined) {
    table.inject(producer);
    return;
  }
  const hint = nearest(fact, [...provided, ...defaults.keys(), ...CORE_FACTS]);
  const message = `${asking.name} needs ${fact}, which no plugin of this configuration provides${hint}`;
  issues.push({ path: asking.path, message });
}

/** The facts that a source of this type provides when it is injected, with default parameters. */
function defaultFacts(known: KnownPlugin): readonly (readonly [fact: string, type: string])[] {
  const { type, config } = known.definition;
  if (known.kind !== 'source' || known.definition.provides === undefined) return [];
  let defaults: unknown;
  try {
    defaults = config.parse({});
  } catch {
    // A source with required parameters cannot be injected.
    return [];
  }
  return factsOf(known, { name: type, config: defaults }).map((fact) => [fact, type]);
}

function factsOf(
  { kind, definition }: KnownPlugin,
  { name, config }: { readonly name: string; readonly config: unknown },
): readonly string[] {
  if (kind !== 'source') return [];
  return definition.provides?.(config, name).map((key) => key.name) ?? [];
}
