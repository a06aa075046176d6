import { type Command, InvalidArgumentError, Option } from 'commander';
import { ENDPOINTS_MAX } from '../../journal/explain/decision-recorder.ts';
import type { ShadowData } from '../../lab/shadow/shadow-data.ts';
import type {
  DrainOptions,
  PoolOptions,
  RecordingOptions,
  RequestOptions,
  ServeOptions,
} from '../../serve/serve-options.ts';
import { type AccessFlags, addAccessOptions } from './access-options.ts';
import { type AutoscalingFlags, addAutoscalingOptions } from './autoscaling-options.ts';
import { addLimitOptions, type LimitFlags } from './limit-options.ts';
import { addListenOptions, type ListenFlags } from './listen-options.ts';
import { addMetricsOptions, type MetricsFlags } from './metrics-options.ts';
import { atLeastOne, collect, pluginOption, wholeNumber } from './option-values.ts';
import { addPoolOptions, type PoolFlags } from './pool-options.ts';
import { addReplicaOptions, type ReplicaFlags } from './replica-options.ts';
import { addScrapeOptions, type ScrapeFlags } from './scrape-options.ts';
import { addTelemetryOptions, type TelemetryFlags } from './telemetry-options.ts';

/** Below Envoy's default buffer of 1 MiB, and enough text to recognize a prompt. */
const EARLY_PICK_BYTES = 128 * 1024;
/** Many times a prompt of a million tokens. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Some tens of millions of requests. */
const CAPTURE_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** Some millions of decisions. */
const SHADOW_LOG_BYTES_MAX = 1024 * 1024 * 1024;
/** Some thousands of requests: a smaller file would be deleted before anyone can read it. */
const WRITTEN_BYTES_MIN = 1024 * 1024;
/** More than two of the health check intervals of Envoy in deploy/, which are 2 s. */
const DRAIN_NOTICE_MS = 5_000;
/** Longer than restarts of name servers take; the scrapes show which servers are gone. */
const DNS_KEEP_MS = 300_000;
const DRAIN_TIMEOUT_MS = 30_000;
/** 25 hours: longer than the longest limit of a request in deploy/envoy.yaml, which is a day. */
const RESERVATION_AGE_MS_MAX = 90_000_000;
const EXPLAIN_DECISIONS = 100_000;
export const CONFIG_BY_DEFAULT = 'default';

/** Flags that `startServe` takes as they are. */
type DirectFlags = Omit<PoolOptions, 'poolName' | 'kubernetes' | 'election'> &
  Omit<RequestOptions, 'bodyBytesMax' | 'trustClientControls' | 'limits'> &
  DrainOptions &
  Omit<RecordingOptions, 'capture'> &
  Pick<ServeOptions, 'seed'>;

export interface ServeFlags
  extends AccessFlags,
    AutoscalingFlags,
    LimitFlags,
    ListenFlags,
    PoolFlags,
    ReplicaFlags,
    ScrapeFlags,
    MetricsFlags,
    TelemetryFlags,
    DirectFlags {
  readonly config: string;
  readonly configText?: string;
  readonly featureGates: readonly string[];
  /** The command line was one of the reference picker, see `fromReferenceArgs`. */
  readonly asReference?: boolean;
  readonly plugin: readonly string[];
  readonly maxBodyBytes: number;
  readonly capture?: string;
  readonly captureMaxBytes: number;
  readonly shadow: readonly string[];
  readonly shadowState: ShadowData['state'];
  readonly shadowLog?: string;
  readonly shadowLogMaxBytes: number;
  /** True without a file that has a rule. */
  readonly promotion?: string | true;
  readonly observe: boolean;
  readonly logLevel: string;
  readonly json: boolean;
}

/** The options of `serve` in the order of `--help`: the most needed first. */
const GROUPS: readonly (readonly [heading: string, add: (command: Command) => Command])[] = [
  ['Configuration:', addConfigOptions],
  ['Model servers:', addEndpointOptions],
  ['Ports and threads:', addListenOptions],
  ['TLS and access:', addAccessOptions],
  ['Requests:', addRequestOptions],
  ['Stopping:', addDrainOptions],
  ['Limits:', addLimitOptions],
  ['Process:', addProcessOptions],
  ['Kubernetes:', addPoolOptions],
  ['Metrics of the model servers:', addScrapeOptions],
  ['Several pickers:', addReplicaOptions],
  ['Shadows:', addShadowOptions],
  ['Recording:', addRecordingOptions],
  ['The metrics page of the picker:', addMetricsOptions],
  ['Traces and access log:', addTelemetryOptions],
  ['Autoscaling:', addAutoscalingOptions],
];

export function addServeOptions(command: Command): Command {
  for (const [heading, add] of GROUPS) add(command.optionsGroup(heading));
  return command;
}

function addConfigOptions(command: Command): Command {
  return command
    .option(
      '--config <file|name>',
      'EndpointPickerConfig file, read again when it changes; or a built-in configuration: ' +
        'default, reference-default, round-robin, …',
      CONFIG_BY_DEFAULT,
    )
    .option('--config-text <yaml>', 'an EndpointPickerConfig itself, instead of its file')
    .option(
      '--feature-gates <gates>',
      'switch gates of the configuration on or off, separated by commas: flowControl=true',
      list,
      [],
    )
    .addOption(new Option('--as-reference').hideHelp())
    .addOption(pluginOption());
}

function addEndpointOptions(command: Command): Command {
  return command
    .option(
      '--endpoints <host:port,…>',
      'model servers, separated by commas; host names are resolved and followed',
      list,
      [],
    )
    .option(
      '--endpoints-file <file>',
      'model servers as a YAML or JSON file, read again when it changes',
    )
    .option(
      '--dns-keep-ms <ms>',
      'keep the last addresses of a host name this long while it cannot be resolved',
      wholeNumber,
      DNS_KEEP_MS,
    )
    .option(
      '--pool-name <name>',
      'name of the InferencePool, also the label `name` of the pool metrics (default: "default")',
    )
    .option(
      '--ready-min-fresh <n>',
      'not ready (503) with fewer model servers whose metrics are fresh; with 0 such a picker is ' +
        'ready and degraded, as it can still route by the load in flight',
      wholeNumber,
      0,
    );
}

function addProcessOptions(command: Command): Command {
  return command
    .option('--seed <n>', 'seed of random numbers, to repeat a run', wholeNumber)
    .addOption(
      new Option('--log-level <level>', 'least severe level to log')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--json', 'print the ports as one JSON document once the picker serves', false);
}

function addRequestOptions(command: Command): Command {
  return command
    .option(
      '--max-body-bytes <n>',
      'answer requests with larger bodies with 413',
      wholeNumber,
      BODY_BYTES_MAX,
    )
    .option(
      '--early-pick-bytes <n>',
      'when the proxy streams bodies: decide after this many bytes at the latest; keep it below ' +
        'the proxy’s buffer limit',
      wholeNumber,
      EARLY_PICK_BYTES,
    )
    .option(
      '--disable-endpoint-subset-filter',
      'route to all endpoints, also where the proxy names those that a request may go to',
      false,
    )
    .option(
      '--emit-endpoint-scores',
      'tell the proxy the score of each endpoint, in dynamic metadata',
      false,
    )
    .option(
      '--half-close-after-pick',
      'in full duplex mode, take part in requests only: the end of a response is then predicted',
      false,
    );
}

function addDrainOptions(command: Command): Command {
  return command
    .option(
      '--drain-notice-ms <ms>',
      'after SIGTERM, report NOT_SERVING and go on accepting requests for this long: at least two ' +
        'health check intervals of the gateway',
      wholeNumber,
      DRAIN_NOTICE_MS,
    )
    .option(
      '--max-reservation-age-ms <ms>',
      'release the load of a request whose end was not reported after this long; more than your ' +
        'gateway’s longest time limit; 0 for no limit',
      wholeNumber,
      RESERVATION_AGE_MS_MAX,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'after that, wait this long for requests in flight',
      wholeNumber,
      DRAIN_TIMEOUT_MS,
    );
}

function addShadowOptions(command: Command): Command {
  return command
    .option(
      '--shadow <file|name>',
      'configuration that decides every request, too, without effect; may be repeated',
      collect,
      [],
    )
    .addOption(
      new Option(
        '--shadow-state <what>',
        'what a shadow’s later decisions build on: where requests went, or where it would have ' +
          'sent them',
      )
        .choices(['as-it-happened', 'as-if-decided'])
        .default('as-it-happened'),
    )
    .option('--shadow-log <file>', 'write the decisions of all shadows to this file as JSON Lines')
    .option(
      '--shadow-log-max-bytes <n>',
      'most bytes of that file and its three predecessors together',
      writtenBytes,
      SHADOW_LOG_BYTES_MAX,
    )
    .option(
      '--promotion [rule]',
      'allow shadows to decide requests: by `pointsman shadow promote`, and by the rule in this ' +
        'file; see docs/promotion.md',
    )
    .option(
      '--observe',
      'decide nothing: follow the picker whose ext_proc filter comes first, and compare it with ' +
        '--config as a shadow',
      false,
    );
}

function addRecordingOptions(command: Command): Command {
  return command
    .option(
      '--capture <folder>',
      'write the inputs and results of decisions there, without text; see docs/trace-format.md',
    )
    .option(
      '--capture-max-bytes <n>',
      'delete the oldest files of the capture beyond this size',
      writtenBytes,
      CAPTURE_BYTES_MAX,
    )
    .option(
      '--explain-decisions <n>',
      'number of recent decisions that `pointsman explain` can show; 0 records none',
      wholeNumber,
      EXPLAIN_DECISIONS,
    )
    .option(
      '--explain-endpoints <n>',
      'keep all scores of pools of up to this size, and the 16 best of larger ones',
      atLeastOne,
      ENDPOINTS_MAX,
    );
}

function list(text: string, before: readonly string[]): readonly string[] {
  return [...before, ...text.split(',').flatMap((each) => each.trim() || [])];
}

function writtenBytes(text: string): number {
  const value = wholeNumber(text);
  if (value >= WRITTEN_BYTES_MIN) return value;
  throw new InvalidArgumentError(`must be at least ${WRITTEN_BYTES_MIN} bytes.`);
}
