import { Command } from 'commander';
import { configFileOf, type PlanAdditions, planFromPlugins } from '../catalogue/plan.ts';
import { commandLineError } from '../framework/error.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { createLog, type Log } from '../runtime/log/log.ts';
import { exitAtLatest, untilSignal, untilUncaught } from '../runtime/process/process-end.ts';
import {
  type ServeOptions,
  type ShadowingOptions,
  serveOptionsOf,
} from '../serve/options/serve-options.ts';
import { readPromotionRule } from '../serve/picker/promotion-control.ts';
import { startServe } from '../serve/serve.ts';
import { shadowFrom } from '../shadow/shadow-data.ts';
import { limitsFrom } from './options/limit-options.ts';
import { refuseSharedPorts } from './options/listen-options.ts';
import { asObserver } from './options/observer-flags.ts';
import { poolFrom } from './options/pool-options.ts';
import { captureFrom } from './options/recording-options.ts';
import { replicasFrom } from './options/replica-options.ts';
import { unverifiedSources, withScrapeFlags, withScrapeFlagsOf } from './options/scrape-options.ts';
import { addServeOptions, CONFIG_BY_DEFAULT, type ServeFlags } from './options/serve-flags.ts';
import { telemetryFrom } from './options/telemetry-options.ts';

/** What stopping takes at most beside the drain. */
const STOP_MS = 5000;

/** `pointsman serve`: runs the picker until SIGINT or SIGTERM. */
export function serveCommand(): Command {
  const command = new Command('serve').description(
    'run the picker: an ext_proc server that Envoy asks where to send each request',
  );
  return addServeOptions(command).action((flags: ServeFlags) => serve(flags));
}

async function serve(flags: ServeFlags): Promise<void> {
  const log = createLog(flags.logLevel);
  const serving = await startServe(await serveOptions(flags, log));
  // Before the line that says that it serves, which may be answered by a signal at once.
  const signal = untilSignal();
  const { extProcPort, healthPort, metricsPort } = serving;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ extProcPort, healthPort, metricsPort })}\n`);
  }
  const uncaught = untilUncaught((error) =>
    log.error({ err: error }, 'an error that nothing caught: the picker drains, then ends'),
  );
  const reason = await Promise.race([signal, uncaught]);
  // Ctrl-C ends a picker in a terminal, where no gateway needs time to notice.
  const notice = reason !== 'SIGINT';
  const { drainNoticeMs, drainTimeoutMs } = flags;
  log.info({ reason, noticeMs: notice ? drainNoticeMs : 0, drainTimeoutMs }, 'draining');
  const exitCode = reason === 'uncaught' ? 1 : 0;
  // After an error of ours, parts of the process may not work, the drain included.
  if (reason === 'uncaught') exitAtLatest(drainNoticeMs + drainTimeoutMs + STOP_MS, exitCode);
  await serving.stop({ notice });
  log.info({}, 'stopped');
  process.exit(exitCode);
}

/** Throws ConfigError for flags and files that cannot be used. */
async function serveOptions(given: ServeFlags, log: Log): Promise<ServeOptions> {
  refuseSharedPorts({
    '--metrics-port': given.metricsPort,
    '--extproc-port': given.extprocPort,
    '--health-port': given.healthPort,
    '--scaler-port': given.scalerPort,
  });
  const additions = additionsOf(given);
  const { config, plugin, observe } = given;
  const plan = withScrapeFlags(await planFromPlugins(config, plugin, additions), given);
  warnOfUnverified(plan, given, log);
  const found = plan.discovery === undefined ? given : besideFileDiscovery(given, log);
  const flags = asObserver(found, log);
  const shadows = await shadowOptions(flags, additions);
  const file = observe ? undefined : await configFileOf(config, plugin, additions);
  const { endpoints, endpointsFile } = flags;
  const listed = endpoints.length > 0 || endpointsFile !== undefined;
  return serveOptionsOf({
    ...flags,
    ...shadows,
    plan,
    policy: nameOf(flags),
    // An observer runs its configuration as a shadow, which is not read again.
    configFile: withScrapeFlagsOf(file, flags),
    ...(await poolFrom(flags, { isListed: listed || plan.discovery !== undefined })),
    extProcPort: flags.extprocPort,
    bodyBytesMax: flags.maxBodyBytes,
    limits: limitsFrom(flags),
    replicas: replicasFrom(flags),
    ...telemetryFrom(flags, process.env),
    capture: captureFrom(flags),
    log,
  });
}

/** How the configuration in force is named to people. */
function nameOf({ config, configText }: Pick<ServeFlags, 'config' | 'configText'>): string {
  return configText === undefined ? config : '--config-text';
}

function additionsOf({ config, configText, featureGates }: ServeFlags): PlanAdditions {
  if (configText === undefined) return { featureGates };
  if (config !== CONFIG_BY_DEFAULT) {
    throw commandLineError('--config-text', 'cannot be used with --config: give one of them');
  }
  return { text: configText, featureGates };
}

/** Where the configuration itself says so, its notes warn of it. */
function warnOfUnverified(plan: PickerPlan, { asReference }: ServeFlags, log: Log): void {
  const sources = unverifiedSources(plan);
  if (!asReference || sources.length === 0) return;
  log.warn(
    { sources },
    'certificates of model servers are not verified when their metrics are read, as with the reference: ' +
      'give caCertPath, or insecureSkipVerify: false, to the metrics-data-source',
  );
}

/** As the reference: endpoints in a file need no cluster, although it asks for a pool’s name. */
function besideFileDiscovery(flags: ServeFlags, log: Log): ServeFlags {
  if (!flags.asReference) return flags;
  log.warn(
    {},
    'the configuration lists endpoints in a file: no pool is followed, and anyone may read /metrics',
  );
  const { poolNamespace: _, endpointSelector: __, kubeconfig: ___, ...others } = flags;
  return {
    ...others,
    endpointTargetPorts: [],
    metricsEndpointAuth: false,
    haEnableLeaderElection: false,
  };
}

async function shadowOptions(
  flags: ServeFlags,
  additions: PlanAdditions,
): Promise<Required<ShadowingOptions>> {
  const { plugin, observe, shadow, shadowState: state, shadowLog, shadowLogMaxBytes } = flags;
  const own = nameOf(flags);
  // While observing, the configuration itself is the first of the shadows.
  const names = observe ? [...new Set([own, ...shadow])] : shadow;
  if (shadowLog !== undefined && names.length === 0) {
    throw commandLineError('--shadow-log', 'has nothing to write: add --shadow <file|name>');
  }
  const given = (name: string): PlanAdditions => (observe && name === own ? additions : {});
  // Read here, so that errors in a shadow's configuration appear now and not later in its thread.
  const plans = new Map<string, PickerPlan>();
  for (const name of names) plans.set(name, await planFromPlugins(name, plugin, given(name)));
  return {
    shadows: names.map((name) => shadowFrom(name, { plugins: plugin, state, ...given(name) })),
    shadowPlans: [...plans.values()],
    shadowLog:
      shadowLog === undefined ? undefined : { path: shadowLog, bytesMax: shadowLogMaxBytes },
    promotion: promotionFrom(flags, plans),
  };
}

function promotionFrom(
  { promotion, observe }: ServeFlags,
  plans: ReadonlyMap<string, PickerPlan>,
): ShadowingOptions['promotion'] {
  if (promotion === undefined) return undefined;
  if (observe) {
    throw commandLineError(
      '--promotion',
      'cannot be used with --observe, which decides no requests',
    );
  }
  if (plans.size === 0) {
    throw commandLineError('--promotion', 'has nothing to promote: add --shadow <file|name>');
  }
  return { rule: promotion === true ? undefined : readPromotionRule(promotion, plans), plans };
}
