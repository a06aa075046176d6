import type { z } from 'zod';

/**
 * Stands for a type, a name or a reference that cannot be read; nothing is said of what it names.
 */
export const UNREADABLE = '(unreadable)';

type Fields = Record<PropertyKey, unknown>;

/** What is left of a configuration without what its schema refuses. */
export interface Remainder {
  readonly value: Readonly<Record<string, unknown>>;
  /** The indexes of plugins with errors: their names are known, and nothing else counts. */
  readonly plugins: ReadonlySet<number>;
}

/**
 * A copy of a configuration without what its schema refuses, so that errors of meaning are found in
 * the same go: without unknown fields, and without the fields that have any other error, or without
 * their whole sections. Plugins and profiles stay where they are, as far as they can be read.
 * Undefined where there is no list of them, because each reference would have an error.
 */
export function withoutFaults(
  value: Readonly<Record<string, unknown>>,
  { issues }: z.ZodError,
  left: 'fields' | 'sections',
): Remainder | undefined {
  const rest: Fields = structuredClone(value);
  const plugins = new Set<number>();
  for (const issue of issues) {
    const [section = '', at] = issue.path;
    const isList = section === 'plugins' || section === 'schedulingProfiles';
    if (issue.code === 'unrecognized_keys') remove(rest, issue.path, issue.keys);
    else if (!isList && left === 'fields') mendField(rest, issue.path);
    else if (!isList) delete rest[section];
    else if (typeof at !== 'number') return undefined;
    else if (section === 'plugins') plugins.add(at);
    else mendProfile(rest, at, issue.path.slice(2));
  }
  for (const at of plugins) nameOnly(rest['plugins'] as Fields, at);
  return { value: rest, plugins };
}

/** Leaves of a plugin what it is called. */
function nameOnly(plugins: Fields, at: number): void {
  const { name, type } = fieldsOf(plugins[at]);
  const known = typeof type === 'string' && type !== '' ? type : UNREADABLE;
  const isName = typeof name === 'string' && name !== '';
  plugins[at] = { type: known, name: isName ? name : name === undefined ? known : UNREADABLE };
}

/** Puts something that can be read in the place of what is at `path` in a profile. */
function mendProfile(
  rest: Fields,
  at: number,
  [field, member, part]: readonly PropertyKey[],
): void {
  const profiles = rest['schedulingProfiles'] as Fields;
  const profile: Fields = { name: `${UNREADABLE} ${at}`, plugins: [], ...fieldsOf(profiles[at]) };
  profiles[at] = profile;
  if (field === 'name') profile['name'] = `${UNREADABLE} ${at}`;
  if (field !== 'plugins') return;
  if (member === undefined) profile['plugins'] = [];
  else if (part === 'weight') delete fieldsOf((profile['plugins'] as Fields)[member])['weight'];
  else (profile['plugins'] as Fields)[member] = { pluginRef: UNREADABLE };
}

/**
 * Leaves out the field at `path`. A reference stays, as one that cannot be read, and so does a band
 * of flow control, with a priority that no other has.
 */
function mendField(rest: Fields, path: readonly PropertyKey[]): void {
  const [field = '', ...above] = path.toReversed();
  const parent = above.reduceRight<Fields>((from, key) => fieldsOf(from[key]), rest);
  const [list] = above;
  if (field === 'pluginRef') parent[field] = UNREADABLE;
  else if (field === 'priority' && typeof list === 'number') parent[field] = ownPriority(list);
  else if (list === 'priorityBands') parent[field] = { priority: ownPriority(Number(field)) };
  else if (typeof field === 'number') parent[field] = { pluginRef: UNREADABLE };
  else delete parent[field];
}

/** A priority below all that a configuration may have. */
function ownPriority(index: number): number {
  return Number.MIN_SAFE_INTEGER + index;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}

function remove(from: unknown, path: readonly PropertyKey[], keys: readonly string[]): void {
  let at = from;
  for (const key of path) at = (at as Fields | undefined)?.[key];
  for (const key of keys) delete (at as Fields | undefined)?.[key];
}
