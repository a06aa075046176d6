import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError, type ConfigIssue, messageOf } from '../framework/error.ts';
import type { PluginCatalogue } from '../framework/plugin.ts';
import type { Millis } from '../framework/runtime.ts';

const KINDS = [
  'filters',
  'scorers',
  'pickers',
  'profileHandlers',
  'deciders',
  'dataSources',
  'schedulers',
] as const satisfies readonly (keyof PluginCatalogue)[];

/** A module is loaded in milliseconds; one that waits for something, such as a server, may need longer. */
const LOAD_MS_MAX = 30_000;

/**
 * Adds the plugin types of modules outside the tree to a catalogue. A module exports `plugins`: an
 * object with lists of definitions under any of `filters`, `scorers`, `pickers`, `profileHandlers`,
 * `deciders`, `dataSources` and `schedulers`. Throws ConfigError for a file that is missing or
 * cannot be run or does not come to its end, an export of another shape, and a type that exists
 * already.
 */
export async function withPlugins(
  catalogue: PluginCatalogue,
  paths: readonly string[],
  loadMsMax: Millis = LOAD_MS_MAX,
): Promise<PluginCatalogue> {
  let all = catalogue;
  for (const path of paths) all = merged(all, await modulePlugins(path, loadMsMax), path);
  return all;
}

async function modulePlugins(path: string, loadMsMax: Millis): Promise<Partial<PluginCatalogue>> {
  const file = resolve(path);
  if (!existsSync(file)) throw pluginError(path, 'file', 'is not there');
  let module: { readonly plugins?: unknown };
  try {
    module = (await inTime(import(pathToFileURL(file).href), loadMsMax)) as typeof module;
  } catch (error) {
    throw pluginError(
      path,
      'file',
      `cannot be loaded as a module: ${messageOf(error)}${advice(error)}`,
    );
  }
  const { plugins } = module;
  if (typeof plugins !== 'object' || plugins === null) {
    const example = 'export const plugins = { scorers: [mine] }';
    throw pluginError(path, 'plugins', `is not exported; write ${example}`);
  }
  const issues = issuesOf(plugins as Record<string, unknown>);
  if (issues.length > 0) throw new ConfigError(path, issues);
  return plugins;
}

/** Rejects where a module awaits at its top level, in itself or an import, what does not come. */
async function inTime(loading: Promise<unknown>, limitMs: Millis): Promise<unknown> {
  const seconds = limitMs / 1000;
  const message = `it did not come to its end within ${seconds} s: something that it awaits at its top level does not end; begin such work in create, and do not wait for it there`;
  // Keeps the process alive: nothing else may, and then Node ends without a word about the module.
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), limitMs);
  });
  try {
    return await Promise.race([loading, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Node only removes types: what would have to become code, such as an enum, it refuses. And it
 * looks for packages beside the file, not where the program is.
 */
function advice(error: unknown): string {
  const { code } = error as { readonly code?: unknown };
  if (code === 'ERR_MODULE_NOT_FOUND' && messageOf(error).startsWith("Cannot find package '")) {
    return '; install it in the folder of the file or above it, or write the file without imports, as deploy/examples/plugin does';
  }
  return code === 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX'
    ? '; write it in JavaScript, such as a constant object for an enum, or compile the file first'
    : '';
}

function issuesOf(plugins: Record<string, unknown>): readonly ConfigIssue[] {
  return Object.entries(plugins).flatMap(([kind, list]) => {
    const at = `plugins.${kind}`;
    if (!(KINDS as readonly string[]).includes(kind)) {
      return [{ path: at, message: `is not a kind of plugin; the kinds are ${KINDS.join(', ')}` }];
    }
    if (!Array.isArray(list)) return [{ path: at, message: 'is not a list of definitions' }];
    const makes = kind === 'dataSources' ? 'start' : 'create';
    return list.flatMap((definition: unknown, index) => {
      const missing = missingOf(definition, makes);
      return missing === undefined ? [] : [{ path: `${at}[${index}]`, message: missing }];
    });
  });
}

function missingOf(definition: unknown, makes: string): string | undefined {
  if (typeof definition !== 'object' || definition === null) return 'is not a definition';
  const fields = definition as Record<string, unknown>;
  if (typeof fields['type'] !== 'string' || fields['type'] === '') {
    return 'has no type, its name in configuration files';
  }
  const { parse } = (fields['config'] ?? {}) as Record<string, unknown>;
  if (typeof parse !== 'function') {
    return `${fields['type']} has no config with a parse function, such as a zod schema`;
  }
  return typeof fields[makes] === 'function'
    ? undefined
    : `${fields['type']} has no function ${makes}`;
}

function merged(
  catalogue: PluginCatalogue,
  added: Partial<PluginCatalogue>,
  path: string,
): PluginCatalogue {
  const known = new Set(KINDS.flatMap((kind) => catalogue[kind].map(({ type }) => type)));
  const issues: ConfigIssue[] = [];
  for (const kind of KINDS) {
    for (const { type } of added[kind] ?? []) {
      if (known.has(type)) {
        issues.push({
          path: `plugins.${kind}`,
          message: `the type ${type} exists already; choose another name`,
        });
      }
      known.add(type);
    }
  }
  if (issues.length > 0) throw new ConfigError(path, issues);
  const lists = KINDS.map((kind) => [kind, [...catalogue[kind], ...(added[kind] ?? [])]]);
  return Object.fromEntries(lists) as PluginCatalogue;
}

function pluginError(source: string, path: string, message: string): ConfigError {
  return new ConfigError(source, [{ path, message }]);
}
