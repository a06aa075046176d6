import { ConfigError } from '../framework/error.ts';
import { duration } from '../plugins/parameters/duration.ts';

/** A command line of `serve`, and the given flags that have no effect here. */
export interface Translated {
  readonly args: readonly string[];
  readonly ignored: readonly string[];
}

/** Flags of the reference with another name here. */
const RENAMED: ReadonlyMap<string, string> = new Map([
  ['grpc-port', 'extproc-port'],
  ['grpc-health-port', 'health-port'],
  ['config-file', 'config'],
]);
/** Flags that are true without a value. */
const SWITCHES: ReadonlySet<string> = new Set([
  'allow-experimental-plugins',
  'enable-cert-reload',
  'enable-grpc-stream-metrics',
  'enable-pprof',
  'ha-enable-leader-election',
  'health-checking',
  'metrics-endpoint-auth',
  'secure-serving',
  'tracing',
  'zap-devel',
]);
/** Flags without a meaning here, or with a fixed value. */
const IGNORED: ReadonlySet<string> = new Set([
  'allow-experimental-plugins',
  'enable-cert-reload',
  'enable-grpc-stream-metrics',
  'enable-pprof',
  'grpc-max-recv-msg-size',
  'grpc-max-send-msg-size',
  'health-checking',
  'metrics-staleness-threshold',
  'refresh-metrics-interval',
  'refresh-prometheus-metrics-interval',
  'tracing',
  'zap-devel',
  'zap-encoder',
  'zap-stacktrace-level',
  'zap-time-encoding',
]);
/** The verbosity that the reference calls debug. */
const VERBOSE = 4;

/**
 * Translates a command line of the reference picker, or of the conformance suite's, to one of
 * `serve`: their Deployments need another image and no other argument. Undefined for a command line
 * of ours: one that begins with a command or has no `--pool-name`. The reference's defaults hold:
 * health on port 9003, metrics for whom the API server allows, and the pool in `namespace`,
 * otherwise in `default`. Throws ConfigError for a value that cannot be read. Unknown flags stay, so
 * that `serve` reports them.
 */
export function fromReferenceArgs(
  args: readonly string[],
  namespace: string | undefined,
): Translated | undefined {
  const isReference = args.some((arg) => /^--pool-name(?:=|$)/.test(arg));
  if (!isReference || args[0]?.startsWith('-') !== true) return undefined;
  const serveArgs: string[] = ['serve'];
  const ignored: string[] = [];
  const given = flagsOf(args);
  for (const { name, value } of given) {
    if (IGNORED.has(name)) ignored.push(value === undefined ? `--${name}` : `--${name}=${value}`);
    else serveArgs.push(...translated(name, value));
  }
  const names = new Set(given.map(({ name }) => name));
  if (!names.has('grpc-health-port')) serveArgs.push('--health-port=9003');
  if (!names.has('metrics-endpoint-auth')) serveArgs.push('--metrics-endpoint-auth');
  if (!names.has('pool-namespace')) serveArgs.push(`--pool-namespace=${namespace || 'default'}`);
  return { args: serveArgs, ignored };
}

/** Flags as Go's pflag reads them: a switch never takes the next word as its value. */
function flagsOf(args: readonly string[]): { name: string; value: string | undefined }[] {
  const flags: ReturnType<typeof flagsOf> = [];
  const left = [...args];
  for (let arg = left.shift(); arg !== undefined; arg = left.shift()) {
    const [, name = '', value] = /^--?([^=]+)(?:=(.*))?$/s.exec(arg) ?? [];
    const next = left[0];
    const takesNext = value === undefined && !SWITCHES.has(name) && next?.startsWith('-') === false;
    flags.push({ name, value: takesNext ? left.shift() : value });
  }
  return flags;
}

function translated(name: string, value: string | undefined): readonly string[] {
  switch (name) {
    case 'secure-serving':
      return isTrue(name, value) ? [] : ['--insecure'];
    case 'ha-enable-leader-election':
    case 'metrics-endpoint-auth':
      return isTrue(name, value) ? [`--${name}`] : [];
    case 'drain-timeout':
      return [`--drain-timeout-ms=${Math.round(durationMs(name, value))}`];
    case 'v':
      return [`--log-level=${Number(value) >= VERBOSE ? 'debug' : 'info'}`];
    case 'zap-log-level': {
      const level = /^\d+$/.test(value ?? '') && Number(value) >= VERBOSE ? 'debug' : value;
      return [`--log-level=${/^\d+$/.test(level ?? '') ? 'info' : level}`];
    }
    default: {
      const renamed = `--${RENAMED.get(name) ?? name}`;
      return [value === undefined ? renamed : `${renamed}=${value}`];
    }
  }
}

function isTrue(name: string, value: string | undefined): boolean {
  if (value === undefined || value === 'true') return true;
  if (value === 'false') return false;
  throw flagError(name, `is ${value}: it must be true or false`);
}

function durationMs(name: string, value: string | undefined): number {
  const read = duration.safeParse(value);
  if (read.success) return read.data;
  throw flagError(name, `is ${value}: it must be a time such as 30s`);
}

function flagError(name: string, message: string): ConfigError {
  return new ConfigError('command line', [{ path: `--${name}`, message }]);
}
