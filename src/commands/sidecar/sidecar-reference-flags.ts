import { duration } from '../../plugins/parameters/duration.ts';
import { flagError, isTrue } from '../go-flags/reference-flags.ts';

/** A flag of the reference's sidecar that is written or named otherwise here. */
export interface SidecarReferenceFlag {
  /**
   * A switch never takes the next word as its value; a value flag always does, as in Go's pflag.
   */
  readonly kind: 'switch' | 'value';
  /** Our arguments with its effect. Throws ConfigError for an unusable value. */
  readonly to?: (value: string, name: string) => readonly string[];
  /** Why it has no effect: what holds here whether it is given or not. */
  readonly fixed?: string;
  /** Whether only the reference's sidecar has it: such a command line is meant for the sidecar. */
  readonly only?: true;
}

const only = { only: true } as const;
const value = (to: NonNullable<SidecarReferenceFlag['to']>): SidecarReferenceFlag => ({
  kind: 'value',
  to,
});
const same: SidecarReferenceFlag = value((text, name) => [`--${name}=${text}`]);
const sameUnlessEmpty: SidecarReferenceFlag = value((text, name) =>
  text === '' ? [] : [`--${name}=${text}`],
);
const switched = (flag: string): SidecarReferenceFlag => ({
  kind: 'switch',
  to: (text, name) => (isTrue(text, name) ? [flag] : []),
});
const fixed = (kind: SidecarReferenceFlag['kind'], what: string): SidecarReferenceFlag => ({
  kind,
  fixed: what,
});
const milliseconds = (flag: string): SidecarReferenceFlag =>
  value((text, name) => {
    const read = duration.safeParse(text);
    if (!read.success) throw flagError(name, `is ${text}: it must be a time such as 200ms`);
    return [`--${flag}=${Math.max(1, Math.round(read.data))}`];
  });
const enginePort: SidecarReferenceFlag = {
  ...value((text, name) => {
    if (!/^\d+$/.test(text)) throw flagError(name, `is ${text}: it must be a port`);
    return [`--engine=127.0.0.1:${text}`];
  }),
  ...only,
};
/** Empty is the reference's default: no encoder is asked. */
const ecConnector = value((text, name) => [`--${name}=${text === '' ? 'none' : text}`]);

const LINES = 'lines of the log are plain text, at most one a second and kind';

/** Flags of the reference's sidecar by name, its former ones included; others are the same here. */
export const SIDECAR_REFERENCE_FLAGS: ReadonlyMap<string, SidecarReferenceFlag> = new Map(
  Object.entries({
    'atom-dp-size': { ...same, ...only },
    'bidirectional-cache-size': { ...same, ...only },
    'bidirectional-cache-ttl': { ...milliseconds('bidirectional-cache-ttl-ms'), ...only },
    'bidirectional-kv-xfer': { ...switched('--bidirectional-kv-xfer'), ...only },
    'bidirectional-session-header': {
      ...fixed('value', 'a turn is known by all that was said before, without a header'),
      ...only,
    },
    'cert-path': sameUnlessEmpty,
    connector: { ...value((text) => [`--kv-connector=${text}`]), ...only },
    'data-parallel-size': same,
    'decode-chunk-size': { ...same, ...only },
    'decoder-tls-insecure-skip-verify': {
      ...switched('--tls-insecure-skip-verify=decoder'),
      ...only,
    },
    'decoder-use-tls': { ...switched('--enable-tls=decoder'), ...only },
    'ec-connector': { ...ecConnector, ...only },
    'enable-p2p-pull': { ...switched('--enable-p2p-pull'), ...only },
    'enable-prefiller-sampling': { ...switched('--enable-prefiller-sampling'), ...only },
    'enable-speculative-prefill': {
      ...switched('--enable-speculative-prefill'),
      ...only,
    },
    'enable-tls': { ...sameUnlessEmpty, ...only },
    'kv-connector': { ...same, ...only },
    'max-idle-conns-per-host': {
      ...fixed('value', 'idle connections are kept for 4 s, without a bound on their number'),
      ...only,
    },
    'metrics-cert-dir': sameUnlessEmpty,
    'metrics-port': value((text) => (text === '0' ? [] : [`--metrics-port=${text}`])),
    'model-server-port': enginePort,
    'mooncake-bootstrap-port': { ...same, ...only },
    'moriio-parallel-decode-wait-timeout': { ...milliseconds('prefill-timeout-ms'), ...only },
    'moriio-parallel-dispatch': { ...switched('--moriio-parallel-dispatch'), ...only },
    'moriio-write-mode': { ...switched('--moriio-write-mode'), ...only },
    'p2p-connector-port': { ...same, ...only },
    'pool-group': sameUnlessEmpty,
    port: same,
    'prefill-max-retries': { ...same, ...only },
    'prefill-retry-backoff': { ...milliseconds('prefill-retry-backoff-ms'), ...only },
    'prefiller-tls-insecure-skip-verify': {
      ...switched('--tls-insecure-skip-verify=prefiller'),
      ...only,
    },
    'prefiller-use-tls': { ...switched('--enable-tls=prefiller'), ...only },
    'secure-proxy': { ...switched('--secure-serving'), ...only },
    'secure-serving': switched('--secure-serving'),
    'tls-cipher-suites': sameUnlessEmpty,
    'tls-insecure-skip-verify': { ...sameUnlessEmpty, ...only },
    'tls-min-version': sameUnlessEmpty,
    tracing: switched('--tracing'),
    v: fixed('value', LINES),
    'vllm-port': enginePort,
    'zap-devel': fixed('switch', LINES),
    'zap-encoder': fixed('value', LINES),
    'zap-log-level': fixed('value', LINES),
    'zap-stacktrace-level': fixed('value', LINES),
    'zap-time-encoding': fixed('value', LINES),
  } satisfies Record<string, SidecarReferenceFlag>),
);
