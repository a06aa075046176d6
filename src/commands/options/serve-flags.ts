import { type Command, Option } from 'commander';
import { LOG_LEVELS } from '../../runtime/log/log.ts';
import type { ServeOptions } from '../../serve/options/serve-options.ts';
import { type AccessFlags, addAccessOptions } from './access-options.ts';
import { type AutoscalingFlags, addAutoscalingOptions } from './autoscaling-options.ts';
import { addDrainOptions, type DrainFlags } from './drain-options.ts';
import { addEndpointOptions, type EndpointFlags } from './endpoint-options.ts';
import { addLimitOptions, type LimitFlags } from './limit-options.ts';
import { addListenOptions, type ListenFlags } from './listen-options.ts';
import { addMetricsOptions, type MetricsFlags } from './metrics-options.ts';
import { commaSeparated, pluginOption, wholeNumber } from './option-values.ts';
import { addPoolOptions, type PoolFlags } from './pool-options.ts';
import { addRecordingOptions, type RecordingFlags } from './recording-options.ts';
import { addReplicaOptions, type ReplicaFlags } from './replica-options.ts';
import { addRequestOptions, type RequestFlags } from './request-options.ts';
import { addScrapeOptions, type ScrapeFlags } from './scrape-options.ts';
import { addShadowOptions, type ShadowFlags } from './shadow-options.ts';
import { addTelemetryOptions, type TelemetryFlags } from './telemetry-options.ts';

export const CONFIG_BY_DEFAULT = 'default';

export interface ServeFlags
  extends AccessFlags,
    AutoscalingFlags,
    DrainFlags,
    EndpointFlags,
    LimitFlags,
    ListenFlags,
    PoolFlags,
    RecordingFlags,
    ReplicaFlags,
    RequestFlags,
    ScrapeFlags,
    ShadowFlags,
    MetricsFlags,
    TelemetryFlags,
    Pick<ServeOptions, 'seed'> {
  readonly config: string;
  readonly configText?: string;
  readonly featureGates: readonly string[];
  /** The command line was one of the reference picker, see `fromReferenceArgs`. */
  readonly asReference?: boolean;
  readonly plugin: readonly string[];
  readonly logLevel: string;
  readonly json: boolean;
}

/**
 * The options of `serve` in the order of `--help`: the most needed first. Each group has a file
 * here, which also holds the defaults of its options.
 */
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
      commaSeparated,
      [],
    )
    .addOption(new Option('--as-reference').hideHelp())
    .addOption(pluginOption());
}

function addProcessOptions(command: Command): Command {
  return command
    .option('--seed <n>', 'seed of random numbers, to repeat a run', wholeNumber)
    .addOption(
      new Option('--log-level <level>', 'least severe level to log')
        .choices(LOG_LEVELS)
        .default('info'),
    )
    .option('--json', 'print the ports as one JSON document once the picker serves', false);
}
