import type { Environment } from '../../framework/runtime.ts';
import { type GivenFlag, goFlagName, readGoFlag, SWITCHED_ON } from './go-flags.ts';
import { asksForFlowControl, idleVariables } from './idle-variables.ts';
import { flagError, isTrue, REFERENCE_FLAGS } from './reference-flags.ts';

/** A command line of `serve` with the effect of one of the reference picker. */
export interface Translated {
  readonly args: readonly string[];
  /** For each given flag, variable or word without an effect, as given: what holds instead. */
  readonly fixed: Readonly<Record<string, string>>;
}

/**
 * Translates a command line of the reference picker, or of the conformance suite's, to one of
 * `serve`: their Deployments need another image and no other argument. Undefined for a command line
 * of ours: one that begins with a command, or has none of the reference's flags. The reference's
 * defaults hold: health on port 9003, metrics for whom the API server allows, former names of
 * metrics, profiles, and the pool in `$NAMESPACE`, otherwise in `default`. Flags that the reference
 * does not have are passed to `serve`, which refuses those that it does not have either:
 * `--observe`, `--capture day/` and `--json` may stand beside the reference's. Throws ConfigError
 * where the reference refuses, too: for a value that cannot be read, and flags that cannot be
 * combined.
 */
export function fromReferenceArgs(
  args: readonly string[],
  environment: Environment,
): Translated | undefined {
  if (args[0]?.startsWith('-') !== true) return undefined;
  const { flags: given, words } = readLine(args);
  if (!given.some(({ name }) => REFERENCE_FLAGS.has(name))) return undefined;
  const values = withGateOf(environment, valuesOf(given));
  refuseCombinations(values);
  // Where both are given, the level of zap counts.
  if (values.has('zap-log-level')) values.delete('v');
  const serveArgs: string[] = [];
  const fixed: Record<string, string> = {};
  for (const [name, value] of values) {
    const known = REFERENCE_FLAGS.get(name);
    if (known === undefined) continue;
    if (name === PORTS && !values.has('endpoint-selector')) {
      known.to?.(value, name);
      fixed[`--${name}=${value}`] = 'the pool has its own ports';
      continue;
    }
    if (known.fixed !== undefined) fixed[`--${name}=${value}`] = known.fixed;
    serveArgs.push(...(known.to?.(value, name) ?? []));
  }
  serveArgs.push(...given.flatMap(ownArgument));
  const defaults = defaultsBeside(values, environment);
  const unused = idleVariables(environment, sendsTraces(values, environment));
  for (const word of words) fixed[word] = NO_FLAG;
  return { args: ['serve', ...serveArgs, ...defaults], fixed: { ...fixed, ...unused } };
}

/** Flags of older releases of the reference were in camel case. */
function newestName(name: string): string {
  const newer = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return REFERENCE_FLAGS.has(newer) ? newer : name;
}

/** A flag that the reference does not have, as `serve` gets it, each time that it is given. */
function ownArgument({ name, value, isEmptyWord }: GivenFlag): readonly string[] {
  if (REFERENCE_FLAGS.has(name)) return [];
  if (isEmptyWord === true) return [`--${name}`, value];
  return [value === SWITCHED_ON ? `--${name}` : `--${name}=${value}`];
}

/** The value of each flag: the last where it is given several times, but lists add up. */
function valuesOf(given: readonly GivenFlag[]): Map<string, string> {
  const values = new Map<string, string>();
  for (const { name, value } of given) {
    const before = LISTS.has(name) ? values.get(name) : undefined;
    values.set(name, before === undefined ? value : `${before},${value}`);
  }
  return values;
}

/** A variable that asks for flow control does so after, and in spite of, the gates of a flag. */
function withGateOf(environment: Environment, values: Map<string, string>): Map<string, string> {
  if (!asksForFlowControl(environment)) return values;
  const gates = [values.get('feature-gates') ?? '', 'flowControl'].filter((gate) => gate !== '');
  return values.set('feature-gates', gates.join(','));
}

/** Without a selector, the reference does not look at them. */
const PORTS = 'endpoint-target-ports';

/** Flags whose values add up where they are given several times. */
const LISTS: ReadonlySet<string> = new Set([
  'endpoint-target-ports',
  'feature-gates',
  'tls-cipher-suites',
]);

/** What is said of a word that belongs to no flag. */
export const NO_FLAG = 'it belongs to no flag: a switch takes its value as --name=value';

/**
 * The flags of a command line, and the words that belong to none, which the reference passes over.
 */
function readLine(args: readonly string[]): {
  readonly flags: readonly GivenFlag[];
  readonly words: readonly string[];
} {
  const flags: GivenFlag[] = [];
  const words: string[] = [];
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined && arg !== '--'; arg = left.shift()) {
    const given = goFlagName(arg);
    if (given === undefined) {
      words.push(arg);
      continue;
    }
    const isOwn = !REFERENCE_FLAGS.has(newestName(given));
    const hasValue = isOwn && left[0] !== undefined && !left[0].startsWith('-');
    const isEmptyWord = hasValue && left[0] === '' && !arg.includes('=');
    const read = readGoFlag(arg, left, hasValue ? () => false : isSwitch);
    flags.push({ ...read, name: newestName(read.name), isEmptyWord });
  }
  // Charts and operators leave empty words where something is switched off.
  return { flags, words: [...words, ...left].filter((word) => word !== '') };
}

/** One that the reference does not have is passed on with what follows it, or alone. */
function isSwitch(name: string): boolean {
  return REFERENCE_FLAGS.get(newestName(name))?.kind !== 'value';
}

function refuseCombinations(values: ReadonlyMap<string, string>): void {
  const has = (name: string): boolean => (values.get(name) ?? '') !== '';
  if (has('pool-name') && has('endpoint-selector')) {
    throw flagError('endpoint-selector', 'cannot be used with --pool-name: give one of them');
  }
  if (!has('pool-name') && !has('endpoint-selector')) {
    throw flagError(
      'pool-name',
      'is missing: name the InferencePool with it, or pods by their labels with --endpoint-selector; where there is no cluster use `pointsman serve --endpoints <host:port,…>`',
    );
  }
  const guarded = has('metrics-client-ca-file') || isOn(values, 'metrics-endpoint-auth');
  if (has('metrics-cert-dir') && !guarded) {
    const message =
      'gives TLS to a page that anyone may read: give --metrics-client-ca-file, or leave --metrics-endpoint-auth on';
    throw flagError('metrics-cert-dir', message);
  }
  if (has('config-file') && has('config-text')) {
    throw flagError('config-text', 'cannot be used with --config-file: give one of them');
  }
}

/** Whether a switch is on that is on unless the command line says otherwise. */
function isOn(values: ReadonlyMap<string, string>, name: string): boolean {
  return isTrue(values.get(name) ?? SWITCHED_ON, name);
}

/** As long as the reference accepts requests after SIGTERM. */
const ACCEPTS_MS = 30_000;
/** It lets those in flight end. Longer than its charts give a pod to end, which is 130 s. */
const IN_FLIGHT_MS = 600_000;

function defaultsBeside(
  names: ReadonlyMap<string, string>,
  environment: Environment,
): readonly string[] {
  const defaults: string[] = ['--as-reference', '--deprecated-metrics'];
  const add = (name: string, arg: string): void => {
    if (!names.has(name)) defaults.push(arg);
  };
  add('grpc-health-port', '--health-port=9003');
  add('metrics-endpoint-auth', '--metrics-endpoint-auth');
  add('enable-pprof', '--pprof');
  if (!names.has('drain-notice-ms')) add('drain-timeout', `--drain-notice-ms=${ACCEPTS_MS}`);
  add('drain-timeout-ms', `--drain-timeout-ms=${IN_FLIGHT_MS}`);
  add('pool-namespace', `--pool-namespace=${environment['NAMESPACE'] || 'default'}`);
  if (sendsTraces(names, environment)) defaults.push('--tracing');
  // Without a pool, the reference is named for its Deployment.
  const deployment = deploymentOf(environment['POD_NAME']);
  if (names.has('endpoint-selector') && deployment !== undefined) {
    add('pool-name', `--pool-name=${deployment}`);
  }
  return defaults;
}

/** The Deployment of a pod: its name without the hash of the ReplicaSet and its own. */
function deploymentOf(pod: string | undefined): string | undefined {
  return /^(.+)-[a-z0-9]+-[a-z0-9]+$/.exec(pod ?? '')?.[1];
}

/**
 * Whether traces go to a collector. The reference is always traced, and prints its traces unless
 * the environment names the exporter; here they are sent, or not made at all.
 */
function sendsTraces(flags: ReadonlyMap<string, string>, environment: Environment): boolean {
  const exporter = environment['OTEL_TRACES_EXPORTER'] ?? '';
  const named = Object.keys(environment).some((name) =>
    /^OTEL_EXPORTER_OTLP_(?:TRACES_)?ENDPOINT$/.test(name),
  );
  const sends = exporter === 'otlp' || (exporter === '' && named);
  return sends && isOn(flags, 'tracing');
}
