import { randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeConfig } from '@kubernetes/client-node';
import type { Registry } from 'prom-client';
import { CaptureWriter } from '../capture/capture-writer.ts';
import { startTap, type Tap } from '../capture/start-tap.ts';
import type { PickerPlan } from '../config/picker-plan.ts';
import { type Discovery, startFileDiscovery } from '../datalayer/discovery/file-discovery.ts';
import { parseStaticEndpoints } from '../datalayer/discovery/static-discovery.ts';
import { createEndpointPicker, type EndpointPicker } from '../endpoint-picker.ts';
import { DecisionRecorder } from '../explain/decision-recorder.ts';
import {
  type ExtProcServer,
  type ExtProcServerOptions,
  startExtProcServer,
} from '../extproc/server.ts';
import type { SessionOptions } from '../extproc/session.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import { isFresh } from '../framework/freshness.ts';
import type { Clock } from '../framework/runtime.ts';
import type { Scheduler } from '../framework/scheduling.ts';
import type { PoolName } from '../kubernetes/kube-resources.ts';
import type { ElectionTiming, LeaderElection } from '../kubernetes/leader-election.ts';
import { startElection } from '../kubernetes/start-election.ts';
import { type KubernetesDiscovery, startKubernetes } from '../kubernetes/start-kubernetes.ts';
import { type Readiness, startAdminServer } from '../observability/admin-server.ts';
import { countPolls } from '../observability/count-polls.ts';
import { instrumentation } from '../observability/instrument.ts';
import type { Log } from '../observability/log.ts';
import { PickerMetrics } from '../observability/metrics.ts';
import { registerPoolMetrics } from '../observability/pool-metrics.ts';
import { requestMetrics } from '../observability/request-metrics.ts';
import { registerRoleMinimums, tellRoleMinimums } from '../observability/role-minimums.ts';
import { registerSchedulerMetrics, timedPrepare } from '../observability/scheduler-metrics.ts';
import type { Promotion } from '../promotion/promotion.ts';
import { registerPromotionMetrics } from '../promotion/promotion-metrics.ts';
import type { PromotionRule } from '../promotion/promotion-rule.ts';
import { createOpenBody, headerOnlyRequest } from '../request/open-body.ts';
import { RequestRules } from '../rules/request-rules.ts';
import { createRealRuntime, type RealRuntime } from '../runtime/real-runtime.ts';
import { ShadowLog } from '../shadow/shadow-log.ts';
import { registerShadowMetrics } from '../shadow/shadow-metrics.ts';
import { type Shadow, type ShadowData, startShadow } from '../shadow/start-shadow.ts';
import { type ConfigFile, type ConfigReload, startConfigReload } from './config-reload.ts';
import { debugDocuments } from './debug-documents.ts';
import { describeEndpoints } from './describe-endpoints.ts';
import { nodeLabels } from './node-labels.ts';
import { observing } from './observing.ts';
import { Promoting, promotionActions } from './promoting.ts';

/** A capture is kept in so many files or more, so that deleting the oldest takes no great part of it. */
const CAPTURE_FILES_MIN = 8;
const CAPTURE_FILE_BYTES_MAX = 256 * 1024 * 1024;

export interface ServeOptions {
  readonly plan: PickerPlan;
  /** Where `plan` comes from, to be followed when it changes. */
  readonly configFile?: ConfigFile | undefined;
  /** `host:port` each. */
  readonly endpoints: readonly string[];
  readonly endpointsFile: string | undefined;
  readonly poolName: string;
  /** Follow this InferencePool and its pods; no other endpoints then. */
  readonly kubernetes?: { readonly config: KubeConfig; readonly pool: PoolName } | undefined;
  /** Be ready only while this picker leads those of its pool; without it all are. Needs `kubernetes`. */
  readonly election?:
    | { readonly identity: string; readonly timing?: ElectionTiming | undefined }
    | undefined;
  readonly host: string;
  /** 0 takes a free port, here and below. */
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** Plaintext. Else TLS with `certPath`'s tls.crt and tls.key, or with a certificate of our own. */
  readonly insecure: boolean;
  readonly certPath: string | undefined;
  readonly bodyBytesMax: number;
  readonly earlyPickBytes: number;
  readonly halfCloseAfterPick: boolean;
  readonly drainTimeoutMs: number;
  readonly seed: number | undefined;
  /** Where to write all that goes into the decisions, and how much at most; nowhere when left out. */
  readonly capture?: { readonly folder: string; readonly bytesMax: number } | undefined;
  /** Decide nothing: follow the picker whose filter stands before ours, see `ObserverSession`. */
  readonly observe?: boolean | undefined;
  /** How many of the last decisions can be explained; none at 0. */
  readonly explainDecisions: number;
  /** Configurations that decide beside the one in charge, without effect. */
  readonly shadows?: readonly ShadowData[] | undefined;
  /** The plans of these, so that they are told of the headers that they read. */
  readonly shadowPlans?: readonly PickerPlan[] | undefined;
  /** Where to write what each of them decides, and how much at most. */
  readonly shadowLog?: { readonly path: string; readonly bytesMax: number } | undefined;
  /** Let shadows decide, by hand and by the rule if there is one. `plans` are theirs, by the names of `shadows`. */
  readonly promotion?:
    | { readonly rule?: PromotionRule | undefined; readonly plans: ReadonlyMap<string, PickerPlan> }
    | undefined;
  readonly log: Log;
}

export interface Serving {
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** NOT_SERVING first, then streams in flight get the drain time-out, then all is closed. */
  stop(): Promise<void>;
}

/** Starts the picker: decision core, endpoints, ext_proc server, admin server. Throws ConfigError on a bad endpoints file. */
export async function startServe(options: ServeOptions): Promise<Serving> {
  const { log, plan } = options;
  for (const warning of plan.warnings) log.warn({ warning }, 'configuration');
  const seed = options.seed ?? randomInt(2 ** 31);
  const runtime = createRealRuntime({ seed });
  const metrics = new PickerMetrics();
  const tap = tapOf(options, { seed, clock: runtime.clock });
  const recorder = recorderOf(options, runtime.clock);
  const promoting = promotingOf(options, runtime);
  const picker = startPicker({ plan, runtime, metrics, tap, recorder, promoting });
  const rules = new RequestRules(runtime.random.fork('rules'));
  const capture = tap && captureOf(options, { tap, pool: picker.pool });
  const shadowLog = shadowLogOf(options);
  const shadows = tap === undefined ? [] : shadowsOf(options, { tap, picker, shadowLog });
  const promotion = promoting?.start(picker, shadows);
  showSchedulers(metrics.registry, { picker, shadows, promotion });
  showPool(options, { picker, metrics, clock: runtime.clock });
  const kubernetes = kubernetesOf(options, { picker, runtime, rules });
  const discovery = kubernetes === undefined ? discover(options, { picker, rules }) : undefined;
  const server = await startExtProcServer(
    extProcOptions(options, { picker, metrics, rules, seed }),
  );
  const election = electionOf(options, { metrics, runtime, server });
  const reload = reloadOf(options, { picker, metrics });
  const watched = { picker, discovery, kubernetes, election, reload };
  const admin = await startAdminServer({
    host: options.host,
    port: options.metricsPort,
    metricsPage: () => metrics.page(),
    ready: () => readiness(watched, runtime.clock.now()),
    documents: new Map([
      ['/debug/endpoints', () => describeEndpoints(picker, runtime.clock.now(), server.sessions())],
      ['/debug/rules', () => rules.describe()],
      ...debugDocuments({ picker, shadows, recorder, promotion }),
    ]),
    actions: promotion && promotionActions(promotion),
  });
  if (election === undefined) server.setServing(true);
  const ports = {
    extProcPort: server.port,
    healthPort: server.healthPort,
    metricsPort: admin.port,
  };
  log.info({ ...ports, endpoints: picker.pool.snapshot().length }, 'serving');
  return {
    ...ports,
    stop: async () => {
      // Another may lead while requests in flight here end.
      await Promise.all([server.drain(options.drainTimeoutMs), election?.stop()]);
      await reload?.stop();
      await discovery?.stop();
      kubernetes?.stop();
      promotion?.stop();
      picker.stop();
      await stopWatchers({ capture, shadows, shadowLog });
      await admin.stop();
      await runtime.network.close();
    },
  };
}

async function stopWatchers({
  capture,
  shadows,
  shadowLog,
}: {
  readonly capture: CaptureWriter | undefined;
  readonly shadows: readonly Shadow[];
  readonly shadowLog: ShadowLog | undefined;
}): Promise<void> {
  await capture?.close();
  await Promise.all(shadows.map((shadow) => shadow.stop()));
  await shadowLog?.close();
}

/** Puts on the metrics page who decides, and who looks on. */
function showSchedulers(
  registry: Registry,
  {
    picker,
    shadows,
    promotion,
  }: {
    readonly picker: EndpointPicker;
    readonly shadows: readonly Shadow[];
    readonly promotion: Promotion | undefined;
  },
): void {
  registerShadowMetrics(registry, shadows);
  registerSchedulerMetrics(registry, () => picker.replacement());
  if (promotion !== undefined) registerPromotionMetrics(registry, promotion);
}

/** Puts the pool on the metrics page, and in the log what changes of it that somebody should know. */
function showPool(
  { poolName, log }: ServeOptions,
  {
    picker,
    metrics,
    clock,
  }: { readonly picker: EndpointPicker; readonly metrics: PickerMetrics; readonly clock: Clock },
): void {
  const { registry } = metrics;
  const snapshot = (): readonly Endpoint[] => picker.pool.snapshot();
  registerPoolMetrics({ registry, poolName, snapshot, inFlight: picker.ledger, clock });
  metrics.observePrefixIndexes(picker.observers(), snapshot);
  const roles = { observers: () => picker.observers(), clock };
  registerRoleMinimums(registry, roles);
  picker.pool.observeEndpoints(tellRoleMinimums(roles, log));
}

function startPicker({
  plan,
  runtime,
  metrics,
  tap,
  recorder,
  promoting,
}: {
  readonly plan: PickerPlan;
  readonly runtime: RealRuntime;
  readonly metrics: PickerMetrics;
  readonly tap: Tap | undefined;
  readonly recorder: DecisionRecorder | undefined;
  readonly promoting: Promoting | undefined;
}): EndpointPicker {
  const instruments = instrumentation(metrics, runtime.clock);
  const scheduled = (bare: Scheduler): Scheduler => {
    const recorded = recorder?.scheduler(bare) ?? bare;
    return instruments.scheduler(tap?.wrapScheduler(recorded) ?? recorded);
  };
  const picker = createEndpointPicker({
    plan,
    runtime: {
      ...runtime,
      ...(tap && { clock: tap.clock }),
      network: countPolls(runtime.network, metrics, 'metrics-data-source'),
    },
    wrapPlugin: () => recorder?.around(instruments.plugins) ?? instruments.plugins,
    wrapScheduler: scheduled,
    observers: [requestMetrics(metrics), ...(promoting === undefined ? [] : [promoting.canary])],
    schedulerRuntime: runtime,
  });
  const prepare = timedPrepare(picker.prepare, metrics.registry, runtime.clock);
  const timed = { ...picker, prepare };
  const guarded = promoting?.wrap(timed) ?? timed;
  return tap?.wrapPicker(guarded) ?? guarded;
}

function promotingOf(
  { promotion, log }: ServeOptions,
  { clock, random }: RealRuntime,
): Promoting | undefined {
  return promotion && new Promoting({ ...promotion, random: random.fork('canary'), clock, log });
}

function recorderOf(
  { explainDecisions: decisionsMax }: ServeOptions,
  clock: Clock,
): DecisionRecorder | undefined {
  return decisionsMax === 0 ? undefined : new DecisionRecorder({ clock, decisionsMax });
}

/** Undefined where nobody listens: then requests pay nothing for it. */
function tapOf(
  { capture, shadows = [], shadowPlans, plan }: ServeOptions,
  parts: { readonly seed: number; readonly clock: Clock },
): Tap | undefined {
  if (capture === undefined && shadows.length === 0) return undefined;
  return startTap({ ...parts, plan, shadows: shadowPlans });
}

function captureOf(
  { capture, log }: ServeOptions,
  { tap, pool }: { readonly tap: Tap; readonly pool: Pick<EndpointPicker['pool'], 'snapshot'> },
): CaptureWriter | undefined {
  if (capture === undefined) return undefined;
  const { folder, bytesMax } = capture;
  log.info({ folder, bytesMax }, 'capturing what goes into decisions, without text');
  const writer = new CaptureWriter({
    folder,
    fileBytesMax: Math.min(CAPTURE_FILE_BYTES_MAX, Math.ceil(bytesMax / CAPTURE_FILES_MIN)),
    totalBytesMax: bytesMax,
    // Who reads on from the first knows of the pool from there.
    head: (file) => tap.head(file, file === 0 ? [] : pool.snapshot()),
    onFailed: (reason) => log.error({ folder, reason }, 'the capture has ended; serving goes on'),
  });
  tap.listen(writer.write);
  return writer;
}

function shadowLogOf({ shadowLog, log }: ServeOptions): ShadowLog | undefined {
  if (shadowLog === undefined) return undefined;
  const { path } = shadowLog;
  return new ShadowLog({
    ...shadowLog,
    onFailed: (reason) =>
      log.error({ path, reason }, 'the shadows’ log has ended; serving goes on'),
  });
}

function shadowsOf(
  { shadows = [], log }: ServeOptions,
  {
    tap,
    picker,
    shadowLog,
  }: {
    readonly tap: Tap;
    readonly picker: EndpointPicker;
    readonly shadowLog: ShadowLog | undefined;
  },
): readonly Shadow[] {
  return shadows.map((data) => {
    const begin = (): string => tap.begin(picker.pool.snapshot());
    const shadow = startShadow({
      ...data,
      name: data.source,
      begin,
      log,
      onDecisions: shadowLog?.write,
    });
    tap.listen(shadow.hear);
    return shadow;
  });
}

function kubernetesOf(
  { kubernetes, plan, log }: ServeOptions,
  {
    picker,
    runtime,
    rules,
  }: {
    readonly picker: EndpointPicker;
    readonly runtime: RealRuntime;
    readonly rules: RequestRules;
  },
): KubernetesDiscovery | undefined {
  if (kubernetes === undefined) return undefined;
  const { clock, random } = runtime;
  const { pool: endpoints } = picker;
  return startKubernetes({
    ...kubernetes,
    nodeLabels: nodeLabels(plan),
    endpoints,
    rules,
    clock,
    random: random.fork('kubernetes'),
    log,
  });
}

function reloadOf(
  { configFile: file, plan, log }: ServeOptions,
  { picker, metrics }: { readonly picker: EndpointPicker; readonly metrics: PickerMetrics },
): ConfigReload | undefined {
  const { registry } = metrics;
  const adopt = (next: PickerPlan): void => {
    picker.adopt(next);
    registerSchedulerMetrics(registry, () => picker.replacement());
    metrics.observePrefixIndexes(picker.observers(), () => picker.pool.snapshot());
  };
  return file && startConfigReload({ file, plan, adopt, registry, log });
}

function electionOf(
  { kubernetes, election, log }: ServeOptions,
  {
    metrics,
    runtime,
    server,
  }: {
    readonly metrics: PickerMetrics;
    readonly runtime: RealRuntime;
    readonly server: ExtProcServer;
  },
): LeaderElection | undefined {
  if (election === undefined || kubernetes === undefined) return undefined;
  return startElection({
    ...kubernetes,
    ...election,
    clock: runtime.clock,
    random: runtime.random.fork('election'),
    registry: metrics.registry,
    log,
    onChange: (leading) => server.setServing(leading),
  });
}

function discover(
  options: ServeOptions,
  { picker: { pool }, rules }: { readonly picker: EndpointPicker; readonly rules: RequestRules },
): Discovery | undefined {
  const { endpointsFile, plan, log } = options;
  for (const spec of parseStaticEndpoints(options.endpoints)) pool.upsert(spec);
  // A file named on the command line is watched: whoever wants a still list has --endpoints.
  if (endpointsFile !== undefined) {
    return startFileDiscovery({ path: endpointsFile, watchFile: true, pool, rules, log });
  }
  return plan.discovery && startFileDiscovery({ ...plan.discovery, pool, rules, log });
}

function extProcOptions(
  options: ServeOptions,
  parts: {
    readonly picker: EndpointPicker;
    readonly metrics: PickerMetrics;
    readonly rules: RequestRules;
    readonly seed: number;
  },
): ExtProcServerOptions {
  const { log, bodyBytesMax, earlyPickBytes, halfCloseAfterPick, observe = false } = options;
  const { rules } = parts;
  const priorityOf = rules.priorityOf.bind(rules);
  // Where another picker decides, what we see has its rules behind it already.
  const rewriteOf = observe ? undefined : rules.rewriteOf.bind(rules);
  const reading: Pick<SessionOptions, 'router' | 'openBody' | 'headerOnly'> = {
    router: parts.picker,
    openBody: createOpenBody({ bodyBytesMax, hashSeed: parts.seed, priorityOf, rewriteOf }),
    headerOnly: (head) => headerOnlyRequest(head, priorityOf),
  };
  const session: ExtProcServerOptions['session'] = {
    ...reading,
    earlyPickBytes,
    halfCloseAfterPick,
    onFault: (error) =>
      log.error({ err: error }, 'a request failed inside the picker and got a 500'),
    onRejected: ({ code, sentence }, model) => {
      parts.metrics.countError(code, model);
      log.debug({ code, sentence }, 'request refused');
    },
  };
  return {
    host: options.host,
    port: options.extProcPort,
    healthPort: options.healthPort,
    tls: tlsOf(options),
    messageBytesMax: bodyBytesMax,
    session: observe
      ? {
          observer: {
            ...reading,
            ...observing({ ...parts, registry: parts.metrics.registry, log }),
          },
        }
      : session,
  };
}

function tlsOf({ insecure, certPath }: ServeOptions): ExtProcServerOptions['tls'] {
  if (insecure) return 'plaintext';
  if (certPath === undefined) return 'self-signed';
  return {
    cert: readFileSync(join(certPath, 'tls.crt')),
    key: readFileSync(join(certPath, 'tls.key')),
  };
}

function readiness(
  {
    picker,
    discovery,
    kubernetes,
    election,
    reload,
  }: {
    readonly picker: EndpointPicker;
    readonly reload: ConfigReload | undefined;
    readonly discovery: Discovery | undefined;
    readonly kubernetes: KubernetesDiscovery | undefined;
    readonly election: LeaderElection | undefined;
  },
  now: number,
): Readiness {
  const endpoints = picker.pool.snapshot();
  const fresh = endpoints.filter((endpoint) => isFresh(endpoint, now)).length;
  const detail = {
    endpoints: endpoints.length,
    freshEndpoints: fresh,
    endpointsFileError: discovery?.lastError(),
    configError: reload?.lastError(),
    ...(kubernetes && {
      kubernetesSynced: kubernetes.synced,
      kubernetesAgeMs: kubernetes.ageMs,
      kubernetesTroubles: kubernetes.troubles,
      kubernetesGroups: kubernetes.groups,
      kubernetesRulesSynced: kubernetes.rulesSynced,
    }),
    ...(election && {
      leading: election.leading,
      leader: election.holder,
      leaseError: election.trouble,
    }),
  };
  return { ok: endpoints.length > 0 && (election?.leading ?? true), detail };
}
