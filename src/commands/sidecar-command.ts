import { Command } from 'commander';
import { packageVersion } from '../files/folders.ts';
import type { Following } from '../files/following/follow-files.ts';
import { commandLineError } from '../framework/error.ts';
import type { Clock } from '../framework/runtime.ts';
import { portOf } from '../framework/values/server-address.ts';
import { nodeClock } from '../runtime/clock/node-clock.ts';
import { createLog } from '../runtime/log/log.ts';
import { watchOpenFiles } from '../runtime/process/open-files.ts';
import { untilSignal } from '../runtime/process/process-end.ts';
import { Registry } from '../runtime/prom-client.ts';
import { type Readiness } from '../serve/admin/admin-routes.ts';
import { startAdminServer } from '../serve/admin/admin-server.ts';
import { metricsTls } from '../serve/tls/metrics-tls.ts';
import { type AllowedServers, privateServers } from '../sidecar/options/allowed-servers.ts';
import type {
  KvOptions,
  PrefillOptions,
  ServingTls,
  SidecarBounds,
  SidecarOptions,
} from '../sidecar/options/sidecar-options.ts';
import { type Sidecar, startSidecar } from '../sidecar/start-sidecar.ts';
import { type LegTraces, traceLegs } from '../telemetry/tracing/trace-legs.ts';
import { planTracing } from '../telemetry/tracing/tracing-plan.ts';
import type { BoundFlags } from './sidecar/flags/bound-flags.ts';
import type { ConnectorFlags } from './sidecar/flags/connector-flags.ts';
import { moriIoFrom } from './sidecar/flags/mori-io-flags.ts';
import type { PrefillFlags } from './sidecar/flags/prefill-flags.ts';
import type { ServerFlags } from './sidecar/flags/server-flags.ts';
import { addSidecarOptions, type SidecarFlags } from './sidecar/flags/sidecar-flags.ts';
import { servingTls } from './sidecar/serving-tls.ts';
import { upstreamAuthorities } from './sidecar/upstream-authorities.ts';

const ANY_PRIVATE =
  'sidecar: requests may name any private address as their prefilling server or encoder: ' +
  'give --prefillers and --encoders, or --inference-pool, to say which';

export function sidecarCommand(): Command {
  const command = new Command('sidecar').description(
    'run the proxy of a decoding server, which has prompts prefilled elsewhere',
  );
  return addSidecarOptions(command).action(run);
}

async function run(flags: SidecarFlags): Promise<void> {
  const log = (line: string): void => void process.stderr.write(`${line}\n`);
  const made = await optionsFrom(flags, log);
  const { clock } = made.options;
  const sidecar = await startSidecar(made.options);
  const files = watchOpenFiles({ clock, log, onNone: () => sidecar.makeRoom() });
  const concerns = (): readonly string[] => [...made.refused(), ...[files.trouble() ?? []].flat()];
  const metricsPort = await startMetrics(flags, sidecar, { clock, concerns });
  // Before the line that says that it serves, which may be answered by a signal at once.
  const ended = untilSignal();
  const { address, addresses } = sidecar;
  if (flags.json) process.stdout.write(`${JSON.stringify({ address, addresses, metricsPort })}\n`);
  else for (const line of startLines(flags, addresses)) log(line);
  const signal = await ended;
  log(`${signal}: draining, a second one ends at once`);
  // A person who presses Ctrl-C waits for the end; nothing else needs to notice.
  await sidecar.drain(signal === 'SIGINT' ? { ...flags, drainNoticeMs: 0 } : flags);
  files.stop();
  await made.stop();
  process.exit(0);
}

interface SidecarPlan {
  readonly options: SidecarOptions;
  /** What is wrong with the files that are followed. */
  readonly refused: () => readonly string[];
  stop(): Promise<void>;
}

async function optionsFrom(flags: SidecarFlags, log: (line: string) => void): Promise<SidecarPlan> {
  const clock = nodeClock();
  checkCombinations(flags);
  const registry = new Registry();
  const serving = await servingTls(flags, { clock, log, registry });
  const authorities = upstreamAuthorities(flags.tlsCa, { log, registry });
  const moriIo = await moriIoFrom(flags, { clock, log });
  const pool = await serversOf(flags);
  const traces = await tracesFrom(flags, clock);
  const options: SidecarOptions = {
    ...plainOptions(flags),
    moriIo: moriIo.options,
    prefillers: flags.prefillers ?? pool.allowed,
    encoders: flags.encoders ?? pool.allowed,
    tracing: traces,
    serving,
    tls: {
      roles: flags.enableTls,
      unverified: flags.tlsInsecureSkipVerify,
      ca: authorities?.current,
    },
    registry,
    clock,
    log,
  };
  const stop = async (): Promise<void> => {
    moriIo.stop();
    pool.stop();
    await traces?.stop();
    await authorities?.stop();
  };
  const refused = (): readonly string[] => [
    ...refusal('the certificate is refused', serving),
    ...invalid('the certificate', serving),
    ...refusal('the authorities of --tls-ca are refused', authorities),
  ];
  return { options, refused, stop };
}

/** What the flags say by themselves. */
function plainOptions(flags: SidecarFlags) {
  return {
    ...legOptions(flags),
    host: flags.host,
    port: flags.port,
    engine: flags.engine,
    dataParallelSize: flags.dataParallelSize,
    health: flags.health,
    podIp: flags.podIp,
    bounds: boundsOf(flags),
  };
}

/** What is said at the start: where requests come in, and where they may go. */
export function startLines(
  flags: Pick<SidecarFlags, 'engine' | 'inferencePool' | 'prefillers' | 'encoders'>,
  addresses: readonly string[],
): readonly string[] {
  const { engine, inferencePool, prefillers, encoders } = flags;
  const listening = `sidecar: listens on ${addresses.join(', ')}, forwards to the decoding server ${engine}`;
  const isNamed = prefillers !== undefined && encoders !== undefined;
  return inferencePool !== undefined || isNamed ? [listening] : [listening, ANY_PRIVATE];
}

function legOptions(
  flags: ConnectorFlags & PrefillFlags,
): Omit<KvOptions, 'moriIo'> & PrefillOptions & Pick<SidecarOptions, 'decodeChunkTokens'> {
  return {
    connector: flags.kvConnector,
    ecConnector: flags.ecConnector,
    p2pPull: flags.enableP2pPull,
    p2pPort: flags.p2pConnectorPort,
    earlierTurns: flags.bidirectionalKvXfer
      ? { turnsMax: flags.bidirectionalCacheSize, keepMs: flags.bidirectionalCacheTtlMs }
      : undefined,
    mooncakeBootstrapPort: flags.mooncakeBootstrapPort,
    sglangBootstrapPort: flags.sglangBootstrapPort,
    atomRanks: flags.atomDpSize,
    samplePrefillers: flags.enablePrefillerSampling,
    prefillRetries: flags.prefillMaxRetries,
    prefillRetryBackoffMs: flags.prefillRetryBackoffMs,
    speculativePrefill: flags.enableSpeculativePrefill,
    decodeChunkTokens: flags.decodeChunkSize,
  };
}

/** Undefined where no traces are asked for, or the environment switches them off. */
async function tracesFrom({ tracing }: SidecarFlags, clock: Clock): Promise<LegTraces | undefined> {
  const plan = tracing ? planTracing(process.env) : undefined;
  if (plan === undefined) return undefined;
  return traceLegs(plan, { clock, log: createLog('info'), version: packageVersion() });
}

/** The servers that requests may name where no flag lists them. */
async function serversOf({
  inferencePool,
  poolGroup: group,
  kubeconfig,
}: ServerFlags): Promise<{ readonly allowed: AllowedServers; stop(): void }> {
  if (inferencePool === undefined) return { allowed: privateServers(), stop: () => undefined };
  // Loaded only where it is used: the client of Kubernetes takes longer than all else together.
  const { followPool } = await import('./sidecar/pool-servers.ts');
  return followPool(inferencePool, { group, kubeconfig });
}

const PORT_MAX = 65_535;

/** Throws ConfigError for flags that cannot be combined. */
function checkCombinations(flags: SidecarFlags): void {
  const { kvConnector, enableP2pPull, dataParallelSize: ranks, port, engine } = flags;
  const refuse = (path: string, message: string): never => {
    throw commandLineError(path, message);
  };
  if (enableP2pPull && kvConnector !== 'nixlv2') {
    refuse('--enable-p2p-pull', `needs --kv-connector nixlv2, but that is ${kvConnector}`);
  }
  if (flags.bidirectionalKvXfer && (kvConnector !== 'nixlv2' || flags.moriioWriteMode)) {
    refuse('--bidirectional-kv-xfer', 'needs --kv-connector nixlv2 without --moriio-write-mode');
  }
  const enginePort = Number(portOf(engine));
  const ports = {
    '--port': port,
    '--engine': enginePort,
    '--p2p-connector-port': flags.p2pConnectorPort,
  };
  for (const [flag, first] of Object.entries(ports)) {
    if (first + ranks - 1 <= PORT_MAX) continue;
    const message = `is ${first}: with --data-parallel-size ${ranks} the last port would be above ${PORT_MAX}`;
    refuse(flag, message);
  }
}

function boundsOf({
  maxBodyBytes,
  maxBufferedBytes,
  maxRequests,
  ...times
}: BoundFlags): SidecarBounds {
  const sizes = { bodyBytesMax: maxBodyBytes, bufferedBytesMax: maxBufferedBytes };
  return { ...times, ...sizes, requestsMax: maxRequests };
}

/** The port of the metrics page, if there is to be one. */
async function startMetrics(
  { host, metricsPort, metricsCertDir }: SidecarFlags,
  sidecar: Sidecar,
  { clock, concerns }: { readonly clock: Clock; readonly concerns: () => readonly string[] },
): Promise<number | undefined> {
  if (metricsPort === undefined) return undefined;
  const tls = metricsTls(
    { metricsCertDir },
    { log: createLog('info'), registry: sidecar.registry, clock },
  );
  const all = (): readonly string[] => [
    ...concerns(),
    ...refusal('the certificate of the metrics port is refused', tls),
    ...invalid('the certificate of the metrics port', tls),
  ];
  const admin = await startAdminServer({
    host,
    port: metricsPort,
    metricsPage: async () => ({
      contentType: sidecar.registry.contentType,
      body: await sidecar.registry.metrics(),
    }),
    ready: () => readinessOf(sidecar, all()),
    documents: new Map(),
    tls,
  });
  return admin.port;
}

function readinessOf({ draining }: Sidecar, concerns: readonly string[]): Readiness {
  const state = draining ? 'not ready' : concerns.length > 0 ? 'degraded' : 'ready';
  const reasons = draining ? ['the sidecar is draining', ...concerns] : concerns;
  return { ok: !draining, state, reasons, detail: { draining } };
}

/** The sentence with the reason, while the present content of a file is refused. */
function refusal(
  sentence: string,
  followed: Pick<Following, 'lastError'> | undefined,
): readonly string[] {
  const reason = followed?.lastError();
  return reason === undefined ? [] : [`${sentence}: ${reason}`];
}

function invalid(name: string, tls: Pick<ServingTls, 'invalidity'> | undefined): readonly string[] {
  const why = tls?.invalidity();
  return why === undefined ? [] : [`${name} ${why}`];
}
