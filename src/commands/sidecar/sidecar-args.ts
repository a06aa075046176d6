import { readFileSync } from 'node:fs';
import { readYaml } from '../../files/reading/read-yaml.ts';
import { ConfigError } from '../../framework/error.ts';
import type { Environment } from '../../framework/runtime.ts';
import { goFlagName, readGoFlag } from '../go-flags/go-flags.ts';
import { NO_FLAG, type Translated } from '../go-flags/reference-args.ts';
import { flagError, isTrue } from '../go-flags/reference-flags.ts';
import { SIDECAR_REFERENCE_FLAGS } from './sidecar-reference-flags.ts';

interface Given {
  /** Undefined for a word that is no flag of the reference: it stays as it is. */
  readonly name: string | undefined;
  readonly value: string;
}

/**
 * The command line of the reference's sidecar as one of `sidecar`: its image needs to be replaced
 * and no argument. Undefined for a command line that is meant for something else. After the word
 * `sidecar`, flags of both may be mixed; without it the reference's defaults hold: TLS at the port,
 * no encoder stage, and health of its own. Throws ConfigError where the reference refuses, too.
 */
export function fromSidecarArgs(
  args: readonly string[],
  environment: Environment,
): Translated | undefined {
  const named = args[0] === 'sidecar';
  if (!named && !isMeantForSidecar(args)) return undefined;
  const { given, words } = named ? { given: read(args.slice(1)), words: [] } : readLine(args);
  const flags = new Set(given.map(({ name }) => name));
  const configured = fromConfiguration(given).filter(({ name }) => !isGiven(name, flags));
  const all = [...fromEnvironment(environment, flags), ...configured, ...given];
  const fixed: Record<string, string> = Object.fromEntries(words.map((word) => [word, NO_FLAG]));
  const sidecarArgs: string[] = [];
  for (const { name, value } of latest(all.filter((each) => !PROCESSED.has(each.name ?? '')))) {
    const known = name === undefined ? undefined : SIDECAR_REFERENCE_FLAGS.get(name);
    if (name === undefined || known === undefined) sidecarArgs.push(value);
    else {
      if (known.fixed !== undefined) fixed[`--${name}=${value}`] = known.fixed;
      // Without the reference's defaults, 0 takes a free port as in every other command.
      const asIs = named && name === 'metrics-port';
      sidecarArgs.push(...(asIs ? [`--${name}=${value}`] : (known.to?.(value, name) ?? [])));
    }
  }
  const asksForPool = named && [...configured, ...given].some(({ name }) => POOLS.has(name ?? ''));
  sidecarArgs.push(...poolArgs(all, asksForPool));
  if (!named) {
    const has = (...names: readonly string[]): boolean =>
      all.some(({ name }) => names.includes(name ?? ''));
    if (!has('secure-serving', 'secure-proxy')) sidecarArgs.push('--secure-serving');
    if (!has('ec-connector')) sidecarArgs.push('--ec-connector=none');
    // Before what is given, so that the flag may stand among the reference's.
    sidecarArgs.unshift('--health=sidecar');
  }
  return { args: ['sidecar', ...sidecarArgs], fixed };
}

/** They name the pool whose pods requests may name: the newest, and its parts in older releases. */
const POOLS: ReadonlySet<string> = new Set(['inference-pool', 'inference-pool-name']);
/** Flags that are read here, together with others. */
const PROCESSED: ReadonlySet<string> = new Set([
  ...POOLS,
  'configuration',
  'configuration-file',
  'enable-ssrf-protection',
  'inference-pool-namespace',
]);
/** Former names; a flag in the file does not count beside either name on the command line. */
const SYNONYMS: readonly (readonly string[])[] = [
  ['secure-serving', 'secure-proxy'],
  ['kv-connector', 'connector'],
];

function isMeantForSidecar(args: readonly string[]): boolean {
  if (args[0]?.startsWith('-') !== true) return false;
  const names = args.map((arg) => goFlagName(arg) ?? '');
  if (names.includes('pool-name') || names.includes('endpoint-selector')) return false;
  return names.some(
    (name) => SIDECAR_REFERENCE_FLAGS.get(name)?.only === true || PROCESSED.has(name),
  );
}

/**
 * A command line without the word `sidecar`, and the words in it that belong to no flag, which the
 * reference passes over. Charts leave empty ones where a flag is switched off.
 */
function readLine(args: readonly string[]): {
  readonly given: readonly Given[];
  readonly words: readonly string[];
} {
  const given: Given[] = [];
  const words: string[] = [];
  for (const each of read(args)) {
    const before = given.at(-1);
    const isOfNoFlag = each.name === undefined && !each.value.startsWith('-');
    if (isOfNoFlag && !mayTake(before)) words.push(each.value);
    else given.push(each);
  }
  return { given, words: words.filter((word) => word !== '') };
}

/** Whether the next word may be the value of this one: a flag that only ours has. */
function mayTake(before: Given | undefined): boolean {
  return before?.name === undefined && /^--?[^=]+$/.test(before?.value ?? '');
}

function read(args: readonly string[]): readonly Given[] {
  const given: Given[] = [];
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const isFlag = isKnown(goFlagName(arg) ?? '');
    given.push(isFlag ? readGoFlag(arg, left, isSwitch) : { name: undefined, value: arg });
  }
  return given;
}

function isKnown(name: string): boolean {
  return SIDECAR_REFERENCE_FLAGS.has(name) || PROCESSED.has(name);
}

function isSwitch(name: string): boolean {
  return name === 'enable-ssrf-protection' || SIDECAR_REFERENCE_FLAGS.get(name)?.kind === 'switch';
}

/** The last of each flag counts, but lists add up. Words that are no flags stay in order. */
function latest(given: readonly Given[]): readonly Given[] {
  return given.filter(({ name }, index) => {
    if (name === undefined || LISTS.has(name)) return true;
    return !given.slice(index + 1).some((later) => isSame(name, later.name));
  });
}

const LISTS: ReadonlySet<string> = new Set(['enable-tls', 'tls-insecure-skip-verify']);

function isSame(name: string, other: string | undefined): boolean {
  return (
    name === other || SYNONYMS.some((each) => each.includes(name) && each.includes(other ?? ''))
  );
}

function isGiven(name: string | undefined, flags: ReadonlySet<string | undefined>): boolean {
  // The former name of this port counts over the newer one of a file.
  if (name === 'model-server-port' && flags.has('vllm-port')) return true;
  if (name === 'vllm-port' && flags.has('model-server-port')) return true;
  return [...flags].some((flag) => name !== undefined && isSame(name, flag));
}

/** The flags of `--configuration` or `--configuration-file`: YAML with their names. */
function fromConfiguration(given: readonly Given[]): readonly Given[] {
  const text = valueOf(given, 'configuration');
  const file = valueOf(given, 'configuration-file');
  if (text !== '' && file !== '') {
    throw flagError('configuration', 'cannot be used with --configuration-file: give one of them');
  }
  if (text === '' && file === '') return [];
  const source = file === '' ? '--configuration' : file;
  const document = readYaml(file === '' ? text : readFileSync(file, 'utf8'), source) ?? {};
  if (typeof document !== 'object' || Array.isArray(document)) {
    throw new ConfigError(source, [{ path: 'file', message: 'must have flags by their names' }]);
  }
  const entries = Object.entries(document);
  const unknown = entries.filter(([name]) => !isKnown(name) && !MORI_IO.test(name));
  if (unknown.length > 0) {
    const message = 'is no flag of the sidecar: correct or remove it';
    throw new ConfigError(
      source,
      unknown.map(([path]) => ({ path, message })),
    );
  }
  // The newer name of the engine's port counts, and stands last.
  const ordered = entries.toSorted(
    ([a], [b]) => Number(a === 'model-server-port') - Number(b === 'model-server-port'),
  );
  return ordered.map(([name, value]) => {
    const joined = Array.isArray(value) ? value.join(',') : String(value ?? '');
    return isKnown(name)
      ? { name, value: joined }
      : { name: undefined, value: `--${name}=${joined}` };
  });
}

const MORI_IO = /^moriio-/;

/**
 * Variables that the reference's sidecar reads. As there, a port or switch that cannot be read is
 * ignored.
 */
function fromEnvironment(
  environment: Environment,
  flags: ReadonlySet<string | undefined>,
): readonly Given[] {
  const found: Given[] = [];
  const add = (variable: string, name: string, pattern: RegExp): void => {
    const value = environment[variable] ?? '';
    if (!pattern.test(value) || flags.has(name)) return;
    const known = isKnown(name);
    found.push(known ? { name, value } : { name: undefined, value: `--${name}=${value}` });
  };
  add('ENABLE_PREFILLER_SAMPLING', 'enable-prefiller-sampling', /^(?:1|0|t|f|true|false)$/i);
  add('MOONCAKE_BOOTSTRAP_PORT', 'mooncake-bootstrap-port', /^\d{1,5}$/);
  add('P2P_CONNECTOR_PORT', 'p2p-connector-port', /^\d{1,5}$/);
  add('SGLANG_BOOTSTRAP_PORT', 'sglang-bootstrap-port', /^\d{1,5}$/);
  add('POD_IP', 'pod-ip', /./);
  add('INFERENCE_POOL', 'inference-pool', /./);
  add('INFERENCE_POOL_NAME', 'inference-pool-name', /./);
  add('INFERENCE_POOL_NAMESPACE', 'inference-pool-namespace', /./);
  return found;
}

/** The reference uses the pool only where its protection is switched on. */
function poolArgs(given: readonly Given[], asksForPool: boolean): readonly string[] {
  const pool = poolOf(given);
  const asked = given.findLast(({ name }) => name === 'enable-ssrf-protection')?.value;
  const used = asked === undefined ? asksForPool : isTrue(asked, 'enable-ssrf-protection');
  if (!used) return [];
  if (pool === '') {
    const message = 'needs --inference-pool or $INFERENCE_POOL: the pods that requests may name';
    throw flagError('enable-ssrf-protection', message);
  }
  return [`--inference-pool=${pool}`];
}

function poolOf(given: readonly Given[]): string {
  const pool = valueOf(given, 'inference-pool');
  const name = valueOf(given, 'inference-pool-name');
  if (pool !== '' || name === '') return pool;
  return `${valueOf(given, 'inference-pool-namespace') || 'default'}/${name}`;
}

function valueOf(given: readonly Given[], wanted: string): string {
  return given.findLast(({ name }) => name === wanted)?.value ?? '';
}
