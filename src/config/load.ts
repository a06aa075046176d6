import { z } from 'zod';
import { nearest } from '../files/reading/nearest.ts';
import { readAside } from '../files/reading/read-thread.ts';
import { parseOrReport } from '../files/reading/zod-issues.ts';
import { ConfigError, type ConfigIssue } from '../framework/error.ts';
import type { PluginCatalogue, SchedulerDefinition } from '../framework/plugin.ts';
import type { ConfigNote } from '../picker/plan/config-note.ts';
import type {
  FileDiscoveryPlan,
  PickerPlan,
  PlannedScheduler,
} from '../picker/plan/picker-plan.ts';
import { checkReferences } from './check-references.ts';
import { DEFAULT_CONFIG, defaultConfig } from './defaults.ts';
import { effectiveConfig } from './effective-config.ts';
import { configNotes } from './notes/config-notes.ts';
import { fromOlderReleases } from './older/from-older-releases.ts';
import { noteOtherLedgers, planInFlightMatch, planOutputEstimate } from './plan/in-flight-match.ts';
import { planFlowControl } from './plan/plan-flow-control.ts';
import { planParsers } from './plan/plan-parsers.ts';
import { planHandler, planProfiles } from './plan/plan-profiles.ts';
import { planSources } from './plan/plan-sources.ts';
import { FILE_DISCOVERY, PluginTable } from './plan/plugin-table.ts';
import { endpointDiscovery } from './schema/data-layer-schema.ts';
import {
  API_VERSION_V1,
  checkShape,
  type EndpointPickerConfig,
  readConfigText,
  type SchedulerEntry,
} from './schema/schema.ts';

const CONFIG_THREAD = 'src/config/config-thread';

interface PlanOptions {
  /** The configuration's name in errors, such as the path of its file. */
  readonly source: string;
  readonly catalogue: PluginCatalogue;
  /** Gates of the command line. They override the gates of the configuration. */
  readonly featureGates?: readonly string[] | undefined;
}

interface LoadOptions extends PlanOptions {
  /** YAML or JSON. */
  readonly text: string;
}

/** Makes a plan of a configuration's text, as `planConfig` does of its value. */
export function loadConfig({ text, ...options }: LoadOptions): PickerPlan {
  const value = text === DEFAULT_CONFIG ? defaultConfig() : readConfigText(text, options.source);
  return planConfig(value, options);
}

/** Does what `loadConfig` does, in a thread: a long text does not hold up a program that serves. */
export async function loadConfigAside({ text, ...options }: LoadOptions): Promise<PickerPlan> {
  const { source } = options;
  return planConfig(await readAside(CONFIG_THREAD, readConfigText, { text, source }), options);
}

/**
 * Makes a plan of a configuration, with the reference picker's defaults filled in. Throws one
 * ConfigError that lists every issue of shape and, where plugins and profiles are lists, of
 * meaning.
 */
export function planConfig(
  value: unknown,
  { source, catalogue, featureGates }: PlanOptions,
): PickerPlan {
  const older = fromOlderReleases(value);
  const shape = checkShape(older.value, source);
  const read = withLaterDefaults(withDefaultPolicy(shape.config));
  const config = withGates(read, featureGates);
  const issues: ConfigIssue[] = [...shape.issues];
  const notes: ConfigNote[] = [];
  const { unread } = shape;
  const table = new PluginTable(config.plugins, { catalogue, issues, notes, unread });
  const { handler, flow, ...planned } = planParts(config, table, { catalogue, issues, notes });
  const ofWhole = configNotes(config, planned.profiles, issues);
  const allNotes = [...shape.notes, ...older.notes, ...ofWhole, ...notes];
  if (issues.length > 0) throw new ConfigError(source, issues);
  const plugins = [...table.plugins()];
  const ejection = config.ejection ?? undefined;
  const hold = config.hold ?? undefined;
  const capacity = config.capacity ?? undefined;
  const decided = { ...planned, plugins, ejection, hold, capacity, ...planParsers(config) };
  const effective = effectiveConfig({ ...decided, flowControl: flow.written });
  const warnings = allNotes.map(({ text: sentence }) => sentence);
  return { ...decided, ...flow.plan, handler, warnings, notes: allNotes, effective };
}

interface PlanningParts {
  readonly catalogue: PluginCatalogue;
  readonly issues: ConfigIssue[];
  readonly notes: ConfigNote[];
}

/** The parts of a plan that use the plugins of the table, with what is wrong with them. */
function planParts(
  config: EndpointPickerConfig,
  table: PluginTable,
  { catalogue, issues, notes }: PlanningParts,
) {
  noteOtherLedgers(table, notes);
  const inFlightMatch = planInFlightMatch(table);
  const outputEstimate = planOutputEstimate(table);
  const profiles = planProfiles(config.schedulingProfiles, table, { issues, notes });
  const handler = planHandler(profiles, table, issues);
  const scheduler = planScheduler(config.scheduler, catalogue.schedulers, issues);
  planSources(config.dataLayer, table, { scheduler, issues, notes });
  const discovery = planDiscovery(config, table);
  checkReferences(config, table);
  const flow = planFlowControl(config, table, issues);
  const used = { inFlightMatch, outputEstimate, profiles, discovery, scheduler };
  return { ...used, handler, flow };
}

/** Files that only the reference's later releases read get what those do by default. */
function withLaterDefaults(config: EndpointPickerConfig): EndpointPickerConfig {
  if (config.apiVersion !== API_VERSION_V1) return config;
  const plugins = config.plugins.map((plugin) =>
    plugin.type === 'disagg-profile-handler'
      ? { ...plugin, parameters: { prefillRequired: true, ...plugin.parameters } }
      : plugin,
  );
  return { ...config, plugins };
}

function withGates(
  config: EndpointPickerConfig,
  gates: readonly string[] = [],
): EndpointPickerConfig {
  return { ...config, featureGates: [...config.featureGates, ...gates] };
}

/** Without plugins, the default policy decides what a replacement scheduler leaves. */
function withDefaultPolicy(config: EndpointPickerConfig): EndpointPickerConfig {
  const bare = config.plugins.length === 0 && config.schedulingProfiles.length === 0;
  if (!config.scheduler || !bare) return config;
  const source = 'the default policy';
  const { plugins, schedulingProfiles } = checkShape(defaultConfig(), source).config;
  return { ...config, plugins, schedulingProfiles };
}

function planDiscovery(
  { dataLayer }: EndpointPickerConfig,
  table: PluginTable,
): FileDiscoveryPlan | undefined {
  const given = endpointDiscovery(dataLayer);
  if (given === undefined) return undefined;
  const { pluginRef, path } = given;
  table.resolve(pluginRef, { path, kinds: ['discovery'], wanted: `a ${FILE_DISCOVERY} plugin` });
  return table.discovery(pluginRef);
}

/** By default no fallbacks: a proxy that does not try them takes the list for one odd address. */
const targetsMax = z.int().min(1).max(16).default(1);

/** The scheduler in place of the profiles, if there is one. Adds errors to `issues`. */
function planScheduler(
  entry: SchedulerEntry | null | undefined,
  definitions: readonly SchedulerDefinition[],
  issues: ConfigIssue[],
): PlannedScheduler | undefined {
  if (entry === undefined || entry === null) return undefined;
  const { type, ...fields } = entry;
  const definition = definitions.find((each) => each.type === type);
  if (definition === undefined) {
    const known = definitions.map((each) => each.type);
    // In the library there are only those of modules.
    const message =
      known.length === 0
        ? `${type} is no scheduler that can run here: load one from a module of yours`
        : `${type} is not a known scheduler${nearest(type, known) || `; the known ones are ${known.join(', ')}, and those that a module of --plugin has`}`;
    issues.push({ path: 'scheduler.type', message });
    return undefined;
  }
  const { maxNumOfEndpoints, ...own } = fields;
  const path = 'scheduler.maxNumOfEndpoints';
  const most = parseOrReport(targetsMax, maxNumOfEndpoints, path, issues);
  const read = parseOrReport(definition.config, own, 'scheduler', issues);
  return most && read && { definition, config: read.parsed, targetsMax: most.parsed };
}
