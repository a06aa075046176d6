import { nearest } from '../../src/files/reading/nearest.ts';
import { ConfigError } from '../../src/framework/error.ts';
import { isPlainObject } from '../../src/framework/values/plain-object.ts';
import { ENGINE_ARG_NAMES } from './check-engine-args.ts';
import { ALIASES, LIST_ARGS } from './engine-args.ts';
import { IDLE_FLAGS } from './idle-flags.ts';

/** What a command line or a file sets. */
export interface GivenSettings {
  /** Raw values by name. */
  readonly values: Readonly<Record<string, unknown>>;
  /** Settings that change nothing here, as given. */
  readonly idle: readonly string[];
}

/** Groups of settings in a file of llm-d-inference-sim, whose names are those of the flags. */
const GROUPS: ReadonlySet<string> = new Set(['latencies', 'kvcache', 'lora']);

/**
 * Reads flags of vLLM and llm-d-inference-sim: `--name value`, `--name=value`, a switch alone or
 * with a boolean, `--no-name`, several values after one name, and underscores for dashes. `own` are
 * further names to suggest. Throws ConfigError with each flag that neither program has.
 */
export function readFlags(args: readonly string[], own: readonly string[]): GivenSettings {
  const given = new Map<string, string[]>();
  const stray: string[] = [];
  let current: string[] | undefined;
  for (const arg of args) {
    const [, dashed, value] = /^--?([A-Za-z][^=\s]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (dashed === undefined) {
      if (current === undefined) stray.push(arg);
      else if (arg !== '') current.push(arg);
      continue;
    }
    const name = nameOf(dashed);
    const before = LIST_ARGS.has(name) ? given.get(name) : undefined;
    current = [...(before ?? []), ...(value === undefined ? [] : [value])];
    given.set(name, current);
  }
  const faults = stray.map((arg) => ({ path: arg, message: 'is the value of no flag' }));
  return sorted(
    [...given].map(([name, values]) => [name, valueOf(name, values)] as const),
    {
      source: 'command line',
      prefix: '--',
      faults,
      own,
    },
  );
}

/** Reads the settings of a file, by the same names. Throws ConfigError with each unknown one. */
export function readSettings(raw: unknown, source: string): GivenSettings {
  if (!isPlainObject(raw)) {
    throw new ConfigError(source, [{ path: 'file', message: 'has no settings' }]);
  }
  const flat = Object.entries(raw).flatMap(([name, value]) =>
    GROUPS.has(name) && typeof value === 'object' && value !== null
      ? Object.entries(value as object)
      : [[name, value] as const],
  );
  const named = flat.map(([name, value]) => [nameOf(name), value as unknown] as const);
  return sorted(named, { source, prefix: '', faults: [], own: [] });
}

interface Sorting {
  readonly source: string;
  readonly prefix: string;
  readonly faults: readonly { readonly path: string; readonly message: string }[];
  readonly own: readonly string[];
}

function sorted(
  entries: readonly (readonly [name: string, value: unknown])[],
  { source, prefix, faults, own }: Sorting,
): GivenSettings {
  const values: Record<string, unknown> = {};
  const idle: string[] = [];
  const issues = [...faults];
  for (const [name, value] of entries) {
    const positive = name.startsWith('no-') ? name.slice(3) : name;
    if (ENGINE_ARG_NAMES.has(name)) values[name] = value;
    else if (ENGINE_ARG_NAMES.has(positive)) values[positive] = false;
    else if (isIdle(name) || isIdle(positive)) idle.push(`${prefix}${name}`);
    else {
      const known = [...ENGINE_ARG_NAMES, ...IDLE_FLAGS, ...ALIASES.keys(), ...own];
      const message = `is no setting of this command, of vLLM or of llm-d-inference-sim${nearest(name, known)}`;
      issues.push({ path: `${prefix}${name}`, message });
    }
  }
  if (issues.length > 0) throw new ConfigError(source, issues);
  return { values, idle };
}

function nameOf(given: string): string {
  const name = given.replaceAll('_', '-');
  return ALIASES.get(name) ?? (/^O\d?$/.test(name) ? 'optimization-level' : name);
}

/** The name may be vLLM's form for one field of JSON, `--compilation-config.level`. */
function isIdle(name: string): boolean {
  const [whole = '', field] = name.split('.');
  return IDLE_FLAGS.has(whole) || (field !== undefined && ENGINE_ARG_NAMES.has(whole));
}

/** Flags that repeat: the last one counts, and without a value it is a switch. */
function valueOf(name: string, values: readonly string[]): unknown {
  if (LIST_ARGS.has(name)) return name === 'failure-types' ? values.flatMap(commas) : values;
  return values.at(-1) ?? true;
}

function commas(text: string): readonly string[] {
  return text.split(',').map((each) => each.trim());
}
