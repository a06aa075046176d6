import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Command, InvalidArgumentError, Option } from 'commander';
import { configFileOf, planFromPlugins } from '../catalogue/plan.ts';
import { ConfigError } from '../framework/error.ts';
import { type ShadowData, shadowFrom } from '../lab/shadow/shadow-data.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { createLog } from '../runtime/log.ts';
import { untilSignal } from '../runtime/process-end.ts';
import { readPromotionRule } from '../serve/promotion-control.ts';
import { startServe } from '../serve/serve.ts';
import type { ServeOptions } from '../serve/serve-options.ts';
import { loadKubeconfig } from './load-kubeconfig.ts';
import { pluginOption } from './option-values.ts';

/** Below Envoy's default buffer of 1 MiB, and enough text to know a prompt by. */
const EARLY_PICK_BYTES = 128 * 1024;
/** A million-token prompt many times over. */
const BODY_BYTES_MAX = 64 * 1024 * 1024;
/** Some tens of millions of requests. */
const CAPTURE_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** Some millions of decisions. */
const SHADOW_LOG_BYTES_MAX = 1024 * 1024 * 1024;
/** Some thousands of requests: with less, what is written would be deleted before anybody reads it. */
const WRITTEN_BYTES_MIN = 1024 * 1024;
const DRAIN_TIMEOUT_MS = 30_000;
const EXPLAIN_DECISIONS = 100_000;

interface ServeFlags {
  readonly config: string;
  readonly plugin: readonly string[];
  readonly endpoints: readonly string[];
  readonly endpointsFile?: string;
  readonly poolName: string;
  readonly poolNamespace?: string;
  readonly poolGroup: string;
  readonly kubeconfig?: string;
  readonly haEnableLeaderElection: boolean;
  readonly host: string;
  readonly extprocPort: number;
  readonly healthPort?: number;
  readonly metricsPort: number;
  readonly insecure: boolean;
  readonly certPath?: string;
  readonly maxBodyBytes: number;
  readonly earlyPickBytes: number;
  readonly halfCloseAfterPick: boolean;
  readonly drainTimeoutMs: number;
  readonly seed?: number;
  readonly capture?: string;
  readonly shadow: readonly string[];
  readonly shadowState: ShadowData['state'];
  readonly shadowLog?: string;
  readonly shadowLogMaxBytes: number;
  readonly promotion?: string | true;
  readonly observe: boolean;
  readonly captureMaxBytes: number;
  readonly explainDecisions: number;
  readonly logLevel: string;
  readonly json: boolean;
}

/** `pointsman serve`. */
export function serveCommand(): Command {
  return withWatchers(inCluster(withOptions(new Command('serve')))).action((flags: ServeFlags) =>
    serve(flags),
  );
}

async function serve(flags: ServeFlags): Promise<void> {
  const log = createLog(flags.logLevel);
  // What would decide, if it were asked, is the first of the shadows then.
  const shadows = flags.observe ? [...new Set([flags.config, ...flags.shadow])] : flags.shadow;
  if (flags.shadowLog !== undefined && shadows.length === 0) {
    const message = 'there is nothing to write: no configuration is given with --shadow';
    throw new ConfigError('serve', [{ path: '--shadow-log', message }]);
  }
  // What is wrong with a shadow's configuration is said now, and not by a thread later.
  const plans = new Map<string, PickerPlan>();
  for (const shadow of shadows) {
    plans.set(shadow, await planFromPlugins(shadow, flags.plugin));
  }
  const serving = await startServe({
    plan: await planFromPlugins(flags.config, flags.plugin),
    // What an observer runs is a shadow, and no plan of its own.
    configFile: flags.observe ? undefined : await configFileOf(flags.config, flags.plugin),
    endpoints: flags.endpoints,
    endpointsFile: flags.endpointsFile,
    poolName: flags.poolName,
    kubernetes: await kubernetesFrom(flags),
    election: electionFrom(flags),
    host: flags.host,
    extProcPort: flags.extprocPort,
    healthPort: flags.healthPort,
    metricsPort: flags.metricsPort,
    insecure: flags.insecure,
    certPath: flags.certPath,
    bodyBytesMax: flags.maxBodyBytes,
    earlyPickBytes: flags.earlyPickBytes,
    halfCloseAfterPick: flags.halfCloseAfterPick,
    drainTimeoutMs: flags.drainTimeoutMs,
    observe: flags.observe,
    shadows: shadows.map((name) => shadowFrom(name, flags.plugin, flags.shadowState)),
    shadowPlans: [...plans.values()],
    shadowLog:
      flags.shadowLog === undefined
        ? undefined
        : { path: flags.shadowLog, bytesMax: flags.shadowLogMaxBytes },
    promotion: promotionFrom(flags, plans),
    explainDecisions: flags.explainDecisions,
    seed: flags.seed,
    capture:
      flags.capture === undefined
        ? undefined
        : { folder: flags.capture, bytesMax: flags.captureMaxBytes },
    log,
  });
  const { extProcPort, healthPort, metricsPort } = serving;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ extProcPort, healthPort, metricsPort })}\n`);
  }
  const signal = await untilSignal();
  log.info({ signal }, 'draining');
  await serving.stop();
  process.exit(0);
}

function promotionFrom(
  { promotion, observe }: ServeFlags,
  plans: ReadonlyMap<string, PickerPlan>,
): ServeOptions['promotion'] {
  if (promotion === undefined) return undefined;
  if (plans.size === 0 || observe) {
    const message = observe
      ? 'with --observe nothing is decided here that a shadow could take over'
      : 'there is nothing to promote: no configuration is given with --shadow';
    throw new ConfigError('serve', [{ path: '--promotion', message }]);
  }
  const rule = promotion === true ? undefined : readPromotionRule(promotion, plans);
  return { rule, plans };
}

/** What looks on while requests are served. */
function withWatchers(command: Command): Command {
  return command
    .option(
      '--shadow <file|name>',
      'a configuration that decides beside the one in charge, without effect; give it several times',
      (name: string, before: readonly string[]) => [...before, name],
      [],
    )
    .addOption(
      new Option(
        '--shadow-state <what>',
        'what their later decisions build on: where requests went, or where they would have sent them',
      )
        .choices(['as-it-happened', 'as-if-decided'])
        .default('as-it-happened'),
    )
    .option('--shadow-log <file>', 'write what each of these decides there, as JSON Lines')
    .option(
      '--shadow-log-max-bytes <n>',
      'of that file and the three before it, together',
      writtenBytes,
      SHADOW_LOG_BYTES_MAX,
    )
    .option(
      '--promotion [rule]',
      'let shadows decide: by `pointsman shadow promote`, and by the rule in this file; docs/promotion.md',
    )
    .option(
      '--observe',
      'decide nothing: follow the picker whose ext_proc filter stands before ours, with --config as a shadow of it',
      false,
    )
    .option(
      '--capture <folder>',
      'write what goes into each decision there, without text; see docs/trace-format.md',
    )
    .option(
      '--capture-max-bytes <n>',
      'delete its oldest files beyond this',
      writtenBytes,
      CAPTURE_BYTES_MAX,
    )
    .option(
      '--explain-decisions <n>',
      'how many of the last decisions `pointsman explain` can tell of; 0 keeps none',
      count,
      EXPLAIN_DECISIONS,
    );
}

/** As a person reads them in `--help`, most needed first. */
function withOptions(command: Command): Command {
  return command
    .description('run the picker: an ext_proc server that Envoy asks where to send each request')
    .option(
      '--config <file|name>',
      'EndpointPickerConfig file, followed when it changes; or default, reference-default, round-robin, …',
      'default',
    )
    .addOption(pluginOption())
    .option('--endpoints <host:port,…>', 'model servers, as a list', list, [])
    .option('--endpoints-file <file>', 'model servers, as a YAML or JSON file that is watched')
    .option(
      '--pool-name <name>',
      'the InferencePool; also label `name` of the pool metrics',
      'default',
    )
    .option('--host <address>', 'listen on this address', '0.0.0.0')
    .option('--extproc-port <port>', 'ext_proc and health (gRPC)', port, 9002)
    .option('--health-port <port>', 'health alone (gRPC, plaintext)', port)
    .option(
      '--metrics-port <port>',
      '/metrics, /healthz, /readyz, /debug/endpoints, /debug/decisions (HTTP)',
      port,
      9090,
    )
    .option('--insecure', 'plaintext ext_proc, without TLS', false)
    .option('--cert-path <folder>', 'tls.crt and tls.key; without it a certificate of our own')
    .option('--max-body-bytes <n>', 'refuse larger request bodies with 413', count, BODY_BYTES_MAX)
    .option(
      '--early-pick-bytes <n>',
      'where bodies stream past: decide after so many bytes at the latest; keep below the proxy’s buffer limit',
      count,
      EARLY_PICK_BYTES,
    )
    .option(
      '--half-close-after-pick',
      'in full duplex, let responses pass without us; their end is then not seen',
      false,
    )
    .option(
      '--drain-timeout-ms <ms>',
      'how long requests in flight may take after SIGTERM',
      count,
      DRAIN_TIMEOUT_MS,
    )
    .option('--seed <n>', 'make chance repeatable', count)
    .addOption(
      new Option('--log-level <level>')
        .choices(['debug', 'info', 'warn', 'error', 'silent'])
        .default('info'),
    )
    .option('--json', 'print the ports as one JSON document on stdout once serving', false);
}

/** Where endpoints come from the API server, and several pickers serve them. */
function inCluster(command: Command): Command {
  return command
    .option('--pool-namespace <name>', 'follow that InferencePool and its pods, in this namespace')
    .option('--pool-group <group>', 'API group of the pool', 'inference.networking.k8s.io')
    .option('--kubeconfig <file>', 'how to reach the API server; in a cluster it is known')
    .option(
      '--ha-enable-leader-election',
      'of several pickers of a pool one is ready, elected by a Lease; without it all are',
      false,
    );
}

/** The pool to follow, where a namespace is given. */
async function kubernetesFrom(flags: ServeFlags): Promise<ServeOptions['kubernetes']> {
  const { poolName: name, poolNamespace: namespace, poolGroup: group, kubeconfig } = flags;
  if (namespace === undefined) return undefined;
  const config = await loadKubeconfig(kubeconfig);
  return { config, pool: { namespace, name, group, version: 'v1' } };
}

function electionFrom(flags: ServeFlags): ServeOptions['election'] {
  if (!flags.haEnableLeaderElection) return undefined;
  if (flags.poolNamespace === undefined) {
    throw new ConfigError('command line', [
      {
        path: '--ha-enable-leader-election',
        message: 'needs --pool-namespace, for the Lease is in the namespace of the pool',
      },
    ]);
  }
  return { identity: `${hostname()}_${randomUUID()}` };
}

function list(text: string, before: readonly string[]): readonly string[] {
  return [
    ...before,
    ...text
      .split(',')
      .map((each) => each.trim())
      .filter((each) => each !== ''),
  ];
}

function port(text: string): number {
  const value = count(text);
  if (value > 65_535) throw new InvalidArgumentError('must be at most 65535.');
  return value;
}

function writtenBytes(text: string): number {
  const value = count(text);
  if (value >= WRITTEN_BYTES_MIN) return value;
  throw new InvalidArgumentError(`must be at least ${WRITTEN_BYTES_MIN} bytes.`);
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('must be a whole number.');
  return Number(text);
}
