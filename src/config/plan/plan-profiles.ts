import type { ConfigIssue } from '../../framework/error.ts';
import type { ConfigNote } from '../../picker/plan/config-note.ts';
import type {
  PlannedHandler,
  PlannedPlugin,
  PlannedProfile,
} from '../../picker/plan/picker-plan.ts';
import type { ProfileEntry } from '../schema/schema.ts';
import { UNREADABLE } from '../schema/without-faults.ts';
import type { PluginTable } from './plugin-table.ts';

const SCHEDULING_KINDS = ['filter', 'scorer', 'picker'];
const DEFAULT_HANDLER = 'single-profile-handler';
const DEFAULT_PICKER = 'max-score-picker';

/** The profiles as written, or one of all plugins; each with a picker, if need be the default. */
export function planProfiles(
  entries: readonly ProfileEntry[],
  table: PluginTable,
  { issues, notes }: { readonly issues: ConfigIssue[]; readonly notes: ConfigNote[] },
): readonly PlannedProfile[] {
  const names = new Set<string>();
  const written = entries.length > 0 ? entries : [profileOfAll(table)];
  return written.map((entry, index) => {
    const path = `schedulingProfiles[${index}]`;
    if (names.has(entry.name)) {
      issues.push({
        path: `${path}.name`,
        message: `two profiles are named ${entry.name}; give one of them another name`,
      });
    }
    names.add(entry.name);
    const profile = planProfile(entry, path, table, notes);
    const pickers = profile.plugins.filter(({ plugin }) => plugin.kind === 'picker');
    if (pickers.length > 1) {
      const list = pickers.map(({ plugin }) => plugin.name).join(', ');
      issues.push({
        path,
        message: `${entry.name} has ${pickers.length} pickers (${list}); leave one of them`,
      });
    }
    if (pickers.length > 0) return profile;
    const picker = { plugin: pickerOf(table), weight: 1 };
    return { ...profile, plugins: [...profile.plugins, picker] };
  });
}

/** As in the reference, a profile without a picker gets one that is listed, if there is one. */
function pickerOf(table: PluginTable): PlannedPlugin {
  const listed = [...table.plugins()].find(({ kind }) => kind === 'picker');
  return listed ?? table.inject(DEFAULT_PICKER);
}

function profileOfAll(table: PluginTable): ProfileEntry {
  const plugins = [...table.plugins()].filter(({ kind }) => SCHEDULING_KINDS.includes(kind));
  return { name: 'default', plugins: plugins.map(({ name }) => ({ pluginRef: name })) };
}

/** As in the reference, a profile may list plugins that do their work without it. */
function planProfile(
  { name, plugins }: ProfileEntry,
  path: string,
  table: PluginTable,
  notes: ConfigNote[],
): PlannedProfile {
  return {
    name,
    plugins: plugins.flatMap(({ pluginRef, weight }, at) => {
      const place = `${path}.plugins[${at}]`;
      const plugin = table.find(pluginRef, `${place}.pluginRef`);
      if (plugin === undefined) return [];
      if (plugin.kind !== 'discovery' && SCHEDULING_KINDS.includes(plugin.kind)) {
        return [{ plugin, weight: weight ?? 1 }];
      }
      notes.push({
        path: place,
        reason: 'not-scheduling',
        text: `${place} has no effect: ${pluginRef} is a ${plugin.kind}, not a filter, scorer or picker, and works without a profile`,
      });
      return [];
    }),
  };
}

/** The profile handler of the configuration, or the default one. What is wrong goes to `issues`. */
export function planHandler(
  profiles: readonly PlannedProfile[],
  table: PluginTable,
  issues: ConfigIssue[],
): PlannedHandler {
  const handlers = [...table.plugins()].filter((plugin) => plugin.kind === 'handler');
  if (handlers.length > 1) {
    const list = handlers.map(({ name }) => name).join(', ');
    const message = `has ${handlers.length} profile handlers (${list}); leave one of them`;
    issues.push({ path: 'plugins', message });
  }
  if (!table.lists('handler') && profiles.length > 1) {
    const message = `there are ${profiles.length} profiles and no profile handler, which says when each runs; name one in plugins, such as disagg-profile-handler`;
    issues.push({ path: 'schedulingProfiles', message });
  }
  const handler = handlers[0] ?? table.inject(DEFAULT_HANDLER);
  if (handler.kind !== 'handler') throw new Error(`${DEFAULT_HANDLER} is not a profile handler`);
  const given = handlers.length > 0 && handler.definition.type === DEFAULT_HANDLER;
  if (given && profiles.length > 1) {
    const message = `${DEFAULT_HANDLER} runs one profile, but there are ${profiles.length}; name another profile handler in plugins`;
    issues.push({ path: 'schedulingProfiles', message });
  }
  const isRead = handlers.length === 1 || !table.lists('handler');
  const areNamed = profiles.every(({ name }) => !name.startsWith(UNREADABLE));
  if (isRead && areNamed) issues.push(...handlerFaults(handler, profiles, table));
  return handler;
}

/** What the handler says of the profiles and deciders, at the paths of the configuration. */
function handlerFaults(
  handler: PlannedHandler,
  profiles: readonly PlannedProfile[],
  table: PluginTable,
): readonly ConfigIssue[] {
  const faults = handler.definition.faults?.(handler.config, {
    profiles: new Set(profiles.map(({ name }) => name)),
    deciders: table.mayBe('decider'),
  });
  return (faults ?? []).map(({ path, message }) => ({
    path: path.startsWith('schedulingProfiles')
      ? path
      : `${table.pathOf(handler.name)}.parameters.${path}`,
    message,
  }));
}
