import type { ConfigIssue } from '../framework/error.ts';
import type { PlannedHandler, PlannedProfile } from '../picker/plan/picker-plan.ts';
import type { PluginTable } from './plugin-table.ts';
import type { ProfileEntry } from './schema.ts';

const SCHEDULING_KINDS = ['filter', 'scorer', 'picker'];
const DEFAULT_HANDLER = 'single-profile-handler';
const DEFAULT_PICKER = 'max-score-picker';

/** The profiles as written, or one of all plugins; each with a picker, if need be the default. */
export function planProfiles(
  entries: readonly ProfileEntry[],
  table: PluginTable,
  issues: ConfigIssue[],
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
    const profile = planProfile(entry, path, table);
    const pickers = profile.plugins.filter(({ plugin }) => plugin.kind === 'picker');
    if (pickers.length > 1) {
      const list = pickers.map(({ plugin }) => plugin.name).join(', ');
      issues.push({
        path,
        message: `${entry.name} has ${pickers.length} pickers (${list}); leave one of them`,
      });
    }
    if (pickers.length > 0) return profile;
    const picker = { plugin: table.inject(DEFAULT_PICKER), weight: 1 };
    return { ...profile, plugins: [...profile.plugins, picker] };
  });
}

function profileOfAll(table: PluginTable): ProfileEntry {
  const plugins = [...table.plugins()].filter(({ kind }) => SCHEDULING_KINDS.includes(kind));
  return { name: 'default', plugins: plugins.map(({ name }) => ({ pluginRef: name })) };
}

function planProfile(
  { name, plugins }: ProfileEntry,
  path: string,
  table: PluginTable,
): PlannedProfile {
  return {
    name,
    plugins: plugins.flatMap(({ pluginRef, weight = 1 }, at) => {
      const plugin = table.resolve(pluginRef, {
        path: `${path}.plugins[${at}].pluginRef`,
        kinds: SCHEDULING_KINDS,
        wanted: 'filter, scorer or picker',
      });
      return plugin === undefined ? [] : [{ plugin, weight }];
    }),
  };
}

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
  const handler = handlers[0] ?? table.inject(DEFAULT_HANDLER);
  if (handler.kind !== 'handler') throw new Error(`${DEFAULT_HANDLER} is not a profile handler`);
  if (handler.definition.type === DEFAULT_HANDLER && profiles.length > 1) {
    const message = `${DEFAULT_HANDLER} runs one profile, but there are ${profiles.length}; name another profile handler in plugins`;
    issues.push({ path: 'schedulingProfiles', message });
  }
  return handler;
}
