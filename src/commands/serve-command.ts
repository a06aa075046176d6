import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { Command } from 'commander';
import { configFileOf, planFromPlugins } from '../catalogue/plan.ts';
import { ConfigError } from '../framework/error.ts';
import { shadowFrom } from '../lab/shadow/shadow-data.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { createLog, type Log } from '../runtime/log.ts';
import { exitAtLatest, untilSignal, untilUncaught } from '../runtime/process-end.ts';
import { readPromotionRule } from '../serve/promotion-control.ts';
import { startServe } from '../serve/serve.ts';
import type { ServeOptions } from '../serve/serve-options.ts';
import { limitsFrom } from './limit-options.ts';
import { loadKubeconfig } from './load-kubeconfig.ts';
import { addServeOptions, type ServeFlags } from './serve-flags.ts';

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
  const { extProcPort, healthPort, metricsPort } = serving;
  if (flags.json) {
    process.stdout.write(`${JSON.stringify({ extProcPort, healthPort, metricsPort })}\n`);
  }
  const uncaught = untilUncaught((error) =>
    log.error({ err: error }, 'an error that nothing caught: the picker drains, then ends'),
  );
  const reason = await Promise.race([untilSignal(), uncaught]);
  log.info({ reason }, 'draining');
  const exitCode = reason === 'uncaught' ? 1 : 0;
  // After an error of ours, parts of the process may not work, the drain included.
  if (reason === 'uncaught')
    exitAtLatest(flags.drainNoticeMs + flags.drainTimeoutMs + STOP_MS, exitCode);
  // Ctrl-C ends a picker in a terminal, where no gateway needs time to notice.
  await serving.stop({ notice: reason !== 'SIGINT' });
  process.exit(exitCode);
}

/** Throws ConfigError for flags and files that cannot be used. */
async function serveOptions(flags: ServeFlags, log: Log): Promise<ServeOptions> {
  const { config, plugin, observe, capture, captureMaxBytes } = flags;
  const shadows = await shadowOptions(flags);
  return {
    ...flags,
    ...shadows,
    plan: await planFromPlugins(config, plugin),
    policy: config,
    // An observer runs its configuration as a shadow, which is not read again.
    configFile: observe ? undefined : await configFileOf(config, plugin),
    kubernetes: await kubernetesFrom(flags),
    election: electionFrom(flags),
    extProcPort: flags.extprocPort,
    bodyBytesMax: flags.maxBodyBytes,
    limits: limitsFrom(flags),
    capture: capture === undefined ? undefined : { folder: capture, bytesMax: captureMaxBytes },
    log,
  };
}

async function shadowOptions(
  flags: ServeFlags,
): Promise<Required<Pick<ServeOptions, 'shadows' | 'shadowPlans' | 'shadowLog' | 'promotion'>>> {
  const { config, plugin, observe, shadow, shadowState, shadowLog, shadowLogMaxBytes } = flags;
  // While observing, the configuration itself is the first of the shadows.
  const names = observe ? [...new Set([config, ...shadow])] : shadow;
  if (shadowLog !== undefined && names.length === 0) {
    throw flagError('--shadow-log', 'has nothing to write: add --shadow <file|name>');
  }
  // Read here, so that errors in a shadow's configuration appear now and not later in its thread.
  const plans = new Map<string, PickerPlan>();
  for (const name of names) plans.set(name, await planFromPlugins(name, plugin));
  return {
    shadows: names.map((name) => shadowFrom(name, plugin, shadowState)),
    shadowPlans: [...plans.values()],
    shadowLog:
      shadowLog === undefined ? undefined : { path: shadowLog, bytesMax: shadowLogMaxBytes },
    promotion: promotionFrom(flags, plans),
  };
}

function promotionFrom(
  { promotion, observe }: ServeFlags,
  plans: ReadonlyMap<string, PickerPlan>,
): ServeOptions['promotion'] {
  if (promotion === undefined) return undefined;
  if (observe) {
    throw flagError('--promotion', 'cannot be used with --observe, which decides no requests');
  }
  if (plans.size === 0) {
    throw flagError('--promotion', 'has nothing to promote: add --shadow <file|name>');
  }
  return { rule: promotion === true ? undefined : readPromotionRule(promotion, plans), plans };
}

/** The InferencePool to follow; undefined without --pool-namespace. */
async function kubernetesFrom(flags: ServeFlags): Promise<ServeOptions['kubernetes']> {
  const { poolName: name, poolNamespace: namespace, poolGroup: group, kubeconfig } = flags;
  if (namespace === undefined) return undefined;
  const config = await loadKubeconfig(kubeconfig);
  return { config, pool: { namespace, name, group, version: 'v1' } };
}

function electionFrom(flags: ServeFlags): ServeOptions['election'] {
  if (!flags.haEnableLeaderElection) return undefined;
  if (flags.poolNamespace === undefined) {
    const message = 'needs --pool-namespace: the Lease is in the namespace of the pool';
    throw flagError('--ha-enable-leader-election', message);
  }
  return { identity: `${hostname()}_${randomUUID()}` };
}

function flagError(flag: string, message: string): ConfigError {
  return new ConfigError('command line', [{ path: flag, message }]);
}
