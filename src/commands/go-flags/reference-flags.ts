import { ENGINES, type EngineMapping } from '../../endpoints/scraping/page/engine-metrics.ts';
import { type ConfigError, commandLineError } from '../../framework/error.ts';
import { duration } from '../../plugins/parameters/duration.ts';
import { bytesOf } from './byte-quantity.ts';
import { goWhole } from './go-whole.ts';
import { LEARNED } from './idle-variables.ts';

/** A flag of the reference picker, and what it does here. */
export interface ReferenceFlag {
  /**
   * A switch never takes the next word as its value; a value flag always does, as in Go's pflag.
   */
  readonly kind: 'switch' | 'value';
  /** The arguments of `serve` that have its effect. Throws ConfigError for an unusable value. */
  readonly to?: (value: string, name: string) => readonly string[];
  /** Why it has no effect: what holds here whether it is given or not. */
  readonly fixed?: string;
}

const PORT_MAX = 65_535;
/** The reference scrapes no faster, whatever the flag says. */
const SCRAPE_MS_MIN = 50;

const value = (to: NonNullable<ReferenceFlag['to']>): ReferenceFlag => ({ kind: 'value', to });
const same: ReferenceFlag = value((text, name) => [`--${name}=${text}`]);
/** Empty is the reference's default: as if it were not given. */
const sameUnlessEmpty: ReferenceFlag = value((text, name) =>
  text === '' ? [] : [`--${name}=${text}`],
);
/** In milliseconds. A negative time is 0, where the reference takes one. */
function timeOf(text: string, name: string, least: 'any' | 'positive'): number {
  const read = duration.safeParse(text.replace(/^-(?=[\d.])/, ''));
  if (!read.success) throw flagError(name, `${given(text)}: it must be a time such as 30s`);
  const millis = text.startsWith('-') ? 0 : read.data;
  if (least === 'any') return Math.round(millis);
  if (millis > 0) return Math.max(1, Math.round(millis));
  throw flagError(name, `${given(text)}: it must be above 0`);
}

/** How messages name a value. */
function given(text: string): string {
  return `is ${text === '' ? 'empty' : text}`;
}

const time = (flag: string, least: 'any' | 'positive' = 'any'): ReferenceFlag =>
  value((text, name) => [`--${flag}=${timeOf(text, name, least)}`]);
/** A whole number, so that an error names the flag that was given. */
const whole = (flag: string, most: number): ReferenceFlag =>
  value((text, name) => {
    const read = goWhole(text) ?? -1;
    if (read >= 0 && read <= most) return [`--${flag}=${read}`];
    throw flagError(name, `${given(text)}: it must be a whole number from 0 to ${most}`);
  });
const port = (flag: string): ReferenceFlag => whole(flag, PORT_MAX);
const bytes = (flag: string): ReferenceFlag =>
  value((text, name) => {
    if (text === '') return [];
    const read = bytesOf(text);
    if (read === undefined) {
      throw flagError(name, `${given(text)}: it must be a number of bytes such as 10MiB`);
    }
    // For the reference, 0 is the same as not given.
    return read === 0 ? [] : [`--${flag}=${read}`];
  });
const switched = (to: (on: boolean) => readonly string[]): ReferenceFlag => ({
  kind: 'switch',
  to: (text, name) => to(isTrue(text, name)),
});
const sameSwitch = (flag: string): ReferenceFlag => switched((on) => (on ? [`--${flag}`] : []));
const fixedSwitch = (what: string): ReferenceFlag => ({ ...switched(() => []), fixed: what });
/** A value without an effect, which must still be one of these, in any case. */
const fixedChoice = (what: string, choices: readonly string[]): ReferenceFlag => ({
  kind: 'value',
  fixed: what,
  to(text, name) {
    if (choices.includes(text.toLowerCase())) return [];
    throw flagError(name, `${given(text)}: it must be one of ${choices.join(', ')}`);
  },
});
/** Older charts put quotes around some values, within the argument. */
const unquoted = (text: string): string => text.replace(/^"(.*)"$/, '$1');
/**
 * A flag with the name of a metric, which older releases take and the newest refuses. The metric is
 * read by that name anyway.
 */
const oldMetric = (namesOf: (engine: EngineMapping) => readonly string[]): ReferenceFlag => ({
  kind: 'value',
  fixed: 'metrics of every known engine are read by their names',
  to(quoted, name) {
    const text = unquoted(quoted);
    // Ours may select the total among a metric's series, which was the only one in older pages.
    const known = ENGINES.flatMap(namesOf).map((spec) => spec.replace('{priority=""}', ''));
    if (text === '' || known.includes(text.replaceAll(' ', ''))) return [];
    const message = 'no known engine has it: name it in engineConfigs of core-metrics-extractor';
    throw flagError(name, `is ${text}: ${message}`);
  },
});

/** What older charts name for trtllm-serve, which reports its cache in other series. */
const TRTLLM_CACHE = 'trtllm_cache_config_info';
const HINT = 'the destination is always said by these names';
const ZAP = 'log lines are JSON with times by ISO 8601, and errors have their stack';
const ZAP_TIMES = ['epoch', 'millis', 'nano', 'nanos', 'iso8601', 'rfc3339', 'rfc3339nano'];

/**
 * Every flag of the reference picker by name, its former flags that KServe still gives included.
 */
export const REFERENCE_FLAGS: ReadonlyMap<string, ReferenceFlag> = new Map(
  Object.entries({
    'allow-experimental-plugins': fixedSwitch('every plugin type is allowed'),
    'cache-info-metric': oldMetric(({ cacheInfo }) => cacheInfo ?? [TRTLLM_CACHE]),
    'cert-path': same,
    'config-file': value((text) => (text === '' ? [] : [`--config=${text}`])),
    'config-text': sameUnlessEmpty,
    'destination-endpoint-hint-key': fixedChoice(HINT, ['x-gateway-destination-endpoint']),
    'destination-endpoint-hint-metadata-namespace': fixedChoice(HINT, ['envoy.lb']),
    'disable-endpoint-subset-filter': sameSwitch('disable-endpoint-subset-filter'),
    // The time in which it accepts requests; those in flight have what the pod has left.
    'drain-timeout': time('drain-notice-ms'),
    'emit-endpoint-scores': sameSwitch('emit-endpoint-scores'),
    'enable-cert-reload': fixedSwitch('certificates are read again whenever they change'),
    'enable-grpc-stream-metrics': sameSwitch('grpc-stream-metrics'),
    'enable-latency-predictor': fixedSwitch(LEARNED),
    'enable-pprof': sameSwitch('pprof'),
    'endpoint-selector': sameUnlessEmpty,
    'endpoint-target-ports': value((text, name) => {
      if (text === '') return [];
      const isPort = (each: string): boolean => /^\+?\d+$/.test(each) && Number(each) <= PORT_MAX;
      const wrong = text.split(',').find((each) => !isPort(each));
      if (wrong === undefined) return [`--${name}=${text.replaceAll('+', '')}`];
      throw flagError(
        name,
        `has ${wrong}, which is not a port: give numbers from 0 to ${PORT_MAX}`,
      );
    }),
    'fairness-id-metric-label-limit': whole('metrics-max-fairness-ids', Number.MAX_SAFE_INTEGER),
    'feature-gates': sameUnlessEmpty,
    'grpc-health-port': port('health-port'),
    'grpc-max-recv-msg-size': bytes('max-message-bytes'),
    'grpc-max-send-msg-size': bytes('max-sent-message-bytes'),
    'grpc-port': port('extproc-port'),
    'ha-enable-leader-election': sameSwitch('ha-enable-leader-election'),
    'health-checking': fixedSwitch('the ext_proc port always answers health checks'),
    kubeconfig: sameUnlessEmpty,
    'kv-cache-usage-percentage-metric': oldMetric(({ kvUsage }) => kvUsage),
    'lora-info-metric': oldMetric(({ lora }) => (lora === undefined ? [] : [lora])),
    'metrics-cert-dir': sameUnlessEmpty,
    'metrics-client-ca-file': sameUnlessEmpty,
    'metrics-endpoint-auth': sameSwitch('metrics-endpoint-auth'),
    'metrics-port': port('metrics-port'),
    'metrics-staleness-threshold': time('metrics-stale-ms', 'positive'),
    'model-server-metrics-https-insecure-skip-verify': switched((on) => [
      `--scrape-skip-verify=${on}`,
    ]),
    'model-server-metrics-path': value((quoted, name) => {
      const text = unquoted(quoted);
      if (text.startsWith('/')) return [`--scrape-path=${text}`];
      throw flagError(name, `${given(text)}: it must begin with /, such as /metrics`);
    }),
    'model-server-metrics-port': value((text, name) =>
      text === '0' ? [] : (port('scrape-port').to?.(text, name) ?? []),
    ),
    'model-server-metrics-scheme': value((text, name) => {
      if (text === 'http' || text === 'https') return [`--scrape-scheme=${text}`];
      throw flagError(name, `${given(text)}: it must be http or https`);
    }),
    'plugin-state-staleness-threshold': time('max-reservation-age-ms', 'positive'),
    'pool-group': same,
    'pool-name': sameUnlessEmpty,
    'pool-namespace': sameUnlessEmpty,
    'refresh-metrics-interval': value((text, name) => [
      `--scrape-interval-ms=${Math.max(SCRAPE_MS_MIN, timeOf(text, name, 'any'))}`,
    ]),
    'refresh-prometheus-metrics-interval': {
      kind: 'value',
      fixed: 'metrics of the pool are computed whenever the page is asked for',
      to(text, name) {
        timeOf(text, name, 'positive');
        return [];
      },
    },
    // The first releases found pods by a Service.
    'service-name': { kind: 'value', fixed: 'the endpoints are the pods that the pool selects' },
    'secure-serving': switched((on) => (on ? [] : ['--insecure'])),
    'tls-cipher-suites': same,
    'tls-min-version': same,
    'total-queued-requests-metric': oldMetric(({ waiting }) => waiting),
    'total-running-requests-metric': oldMetric(({ running }) => running),
    // `fromReferenceArgs` switches traces on, which also needs the environment.
    tracing: switched(() => []),
    v: value((text, name) => [`--log-level=${levelOf(text, name)}`]),
    'watch-config-file': fixedSwitch('the configuration file is always followed'),
    'zap-devel': fixedSwitch(ZAP),
    'zap-encoder': fixedChoice(ZAP, ['json', 'console']),
    'zap-log-level': value((text, name) => [`--log-level=${zapLevelOf(text, name)}`]),
    'zap-stacktrace-level': fixedChoice(ZAP, ['info', 'error', 'panic']),
    'zap-time-encoding': fixedChoice(ZAP, ZAP_TIMES),
  } satisfies Record<string, ReferenceFlag>),
);

/** The verbosity that the reference calls debug. */
const VERBOSE = 4;

function levelOf(text: string, name: string): string {
  const read = goWhole(text);
  if (read === undefined) throw flagError(name, `${given(text)}: it must be a whole number`);
  return read >= VERBOSE ? 'debug' : 'info';
}

/** `debug` is verbosity 1 there, which shows what `info` shows here. A panic is an error here. */
function zapLevelOf(text: string, name: string): string {
  const known: Readonly<Record<string, string>> = {
    debug: 'debug',
    info: 'info',
    error: 'error',
    panic: 'error',
  };
  const level = known[text.toLowerCase()];
  if (level !== undefined) return level;
  if (/^[1-9]\d*$/.test(text)) return levelOf(text, name);
  throw flagError(name, `${given(text)}: it must be debug, info, error, panic or a number above 0`);
}

/** The texts that Go reads as a truth value. */
export function isTrue(text: string, name: string): boolean {
  if (/^(?:1|t|true)$/i.test(text)) return true;
  if (/^(?:0|f|false)$/i.test(text)) return false;
  throw flagError(name, `${given(text)}: it must be true or false`);
}

export function flagError(name: string, message: string): ConfigError {
  return commandLineError(`--${name}`, message);
}
