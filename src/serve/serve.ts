import { randomInt } from 'node:crypto';
import type { Registry } from 'prom-client';
import type { KubernetesDiscovery } from '../endpoints/discovery/kubernetes/start-kubernetes.ts';
import { DROP_REASONS } from '../endpoints/kv-events/check-structure.ts';
import { eventReport } from '../endpoints/kv-events/event-report.ts';
import { logEventTroubles } from '../endpoints/kv-events/log-event-troubles.ts';
import { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import { logScrapeErrors } from '../endpoints/scraping/log-scrape-errors.ts';
import { SCRAPE_FAILURES, scrapeErrorsOf } from '../endpoints/scraping/scrape-errors.ts';
import { type ExtProcServer, startExtProcServer } from '../extproc/server/server.ts';
import { packageVersion } from '../files/folders.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { ParserType } from '../framework/parser-type.ts';
import type { Clock } from '../framework/runtime.ts';
import { DecisionRecorder } from '../journal/explain/decision-recorder.ts';
import type { Headroom } from '../journal/headroom/headroom.ts';
import { registerStreamMetrics } from '../journal/metrics/answers/stream-metrics.ts';
import { PickerMetrics } from '../journal/metrics/metrics.ts';
import { registerEjectionMetrics } from '../journal/metrics/pool/ejection-metrics.ts';
import { registerInFlight } from '../journal/metrics/pool/inflight-metrics.ts';
import { registerKvEventMetrics } from '../journal/metrics/pool/kv-event-metrics.ts';
import {
  registerPoolMetrics,
  registerScrapeFailures,
} from '../journal/metrics/pool/pool-metrics.ts';
import { logRoleMinimums, registerRoleMinimums } from '../journal/metrics/pool/role-minimums.ts';
import { registerRollouts } from '../journal/metrics/pool/rollout-metrics.ts';
import {
  registerExpiredReservations,
  registerFaultMetrics,
} from '../journal/metrics/process/fault-metrics.ts';
import { logScheduler } from '../journal/metrics/process/log-scheduler.ts';
import { kvEventCounters } from '../journal/metrics/process/refusal-metrics.ts';
import { registerSchedulerMetrics } from '../journal/metrics/process/scheduler-metrics.ts';
import { registerHoldMetrics } from '../journal/metrics/waiting/hold-metrics.ts';
import type { Promotion } from '../lab/promotion/promotion.ts';
import { registerPromotionMetrics } from '../lab/promotion/promotion-metrics.ts';
import { registerShadowMetrics } from '../lab/shadow/shadow-metrics.ts';
import type { Shadow } from '../lab/shadow/start-shadow.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import type { Replica } from '../replicas/replica.ts';
import { createProfiler } from '../runtime/process/profiler.ts';
import { createRealRuntime, type RealRuntime } from '../runtime/real-runtime.ts';
import { startTelemetry, type Telemetry } from '../telemetry/start-telemetry.ts';
import { adminAccess } from './admin/admin-access.ts';
import { startAdminServer } from './admin/admin-server.ts';
import { debugDocuments } from './admin/debug-documents.ts';
import { describeEndpoints } from './admin/describe-endpoints.ts';
import { withLogLevel } from './admin/log-level.ts';
import { profilePages } from './admin/profiles.ts';
import { startAutoscaling } from './autoscaling/start-autoscaling.ts';
import { type ConfigReload, startConfigReload } from './config-reload.ts';
import { Drain } from './drain.ts';
import type { LeaderElection } from './election/leader-election.ts';
import { electionOf } from './election-of.ts';
import { followEndpoints, type ListedEndpoints } from './endpoint-discovery.ts';
import { type ExtProcParts, extProcOptions } from './ext-proc-options.ts';
import type { LiveCounts } from './live/live-counts.ts';
import { livePage } from './live/live-page.ts';
import { logStart } from './log-start.ts';
import { PromotionControl, promotionActions } from './promotion-control.ts';
import { readiness } from './readiness.ts';
import { sharedSecret } from './replicas/create-replica.ts';
import type { ServeOptions, Serving } from './serve-options.ts';
import { servingPlan } from './serving-plan.ts';
import { ServingState } from './serving-state.ts';
import { type StartedPicker, startPicker } from './start-picker.ts';
import { metricsTls } from './tls/metrics-tls.ts';
import { startTls } from './tls/start-tls.ts';
import { type ProcessWatch, watchProcess } from './watch-process.ts';
import { openShadowLog, startCaptureWriter, startShadows, stopWatchers } from './watchers.ts';

/** Starts all parts of a serving picker. Throws ConfigError for files that cannot be used. */
export async function startServe(options: ServeOptions): Promise<Serving> {
  const { log } = options;
  for (const warning of options.plan.warnings) log.warn({ warning }, 'configuration');
  const seed = options.seed ?? randomInt(2 ** 31);
  const runtime = createRealRuntime({ seed, secret: sharedSecret(options) });
  const { metrics, process } = metricsOf(options, runtime.clock);
  const tls = await startTls(options, { registry: metrics.registry, clock: runtime.clock, log });
  const recorder = recorderOf(options, runtime.clock);
  const promotionControl = promotionControlOf(options, runtime);
  const telemetry = await telemetryOf(options, { metrics, runtime });
  const observing = { metrics, recorder, promotionControl, telemetry };
  const started = startPicker(options, { seed, runtime, ...observing });
  const { picker, router, live, headroom, replica } = started;
  const rules = new RequestRules(runtime.random.fork('rules'));
  const capture = startCaptureWriter(options, { ...started, registry: metrics.registry });
  const shadowLog = openShadowLog(options);
  const shadows = startShadows(options, { ...started, shadowLog });
  const promotion = promotionControl?.start(picker, shadows);
  registerSchedulers(metrics.registry, { picker, shadows, promotion });
  const states = logScheduler(() => picker.replacement(), { clock: runtime.clock, log });
  registerPool(options, { picker, metrics, runtime });
  const scaling = await startAutoscaling(options, { headroom, metrics, clock: runtime.clock });
  const { deciding, parsers, serving } = servingOf(options);
  const endpoints = await followEndpoints(options, { picker, metrics, runtime, rules, serving });
  const served = { ...runtime, ...started, metrics, rules, parsers, tls, telemetry };
  const server = await startServer(options, served);
  const election = await electionOf(options, { metrics, runtime, serving });
  const reload = reloadOf(options, { ...started, metrics, deciding });
  const observers = { recorder, live, shadows, promotion, process, headroom, replica };
  const followers = { ...endpoints, election, reload, serving };
  const drain = new Drain(options, server);
  const parts = { ...started, metrics, runtime, rules, server, drain, ...observers, ...followers };
  const admin = await startAdminServer(adminOptions(options, parts));
  serving.attach(server);
  const ports = portsOf(server, { metricsPort: admin.port, ...scaling });
  logStart(options, { picker, tls, ports });
  return {
    ...ports,
    stop: async ({ notice } = { notice: true }) => {
      serving.detach();
      // Another picker may already lead while requests in flight end here.
      await Promise.all([drain.run({ notice }), election?.stop()]);
      await Promise.all([reload?.stop(), endpoints.discovery?.stop(), replica?.stop()]);
      endpoints.kubernetes?.stop();
      for (const part of [promotion, router, picker]) part?.stop();
      await stopWatchers({ capture, shadows, shadowLog, stops: [process, states, scaling] });
      await Promise.all([admin.stop(), tls.stop(), telemetry?.stop()]);
      await runtime.network.close();
    },
  };
}

function portsOf(
  { port, healthPort }: Pick<ExtProcServer, 'port' | 'healthPort'>,
  { metricsPort, scalerPort }: Pick<Serving, 'metricsPort' | 'scalerPort'>,
): Omit<Serving, 'stop'> {
  return { extProcPort: port, healthPort, metricsPort, scalerPort };
}

/** The parsers in force, which a reload replaces, and what health says by them. */
function servingOf({ plan, election, log }: ServeOptions): {
  readonly deciding: { parsers: readonly ParserType[] };
  readonly parsers: () => readonly ParserType[];
  readonly serving: ServingState;
} {
  const deciding = { parsers: plan.parsers ?? [] };
  const parsers = (): readonly ParserType[] => deciding.parsers;
  return { deciding, parsers, serving: new ServingState(election === undefined, { parsers, log }) };
}

async function startServer(
  options: ServeOptions,
  parts: ExtProcParts & StartedPicker,
): Promise<ExtProcServer> {
  // Others' requests can be booked now that the endpoints are known.
  parts.replica?.start(parts.picker);
  const server = await startExtProcServer(extProcOptions(options, parts));
  registerStreamMetrics(parts.metrics.registry, () => server.usage(), options.grpcStreamMetrics);
  return server;
}

interface ServingParts extends Pick<StartedPicker, 'picker' | 'router'> {
  readonly metrics: PickerMetrics;
  readonly recorder: DecisionRecorder | undefined;
  readonly live: LiveCounts;
  readonly runtime: RealRuntime;
  readonly rules: RequestRules;
  readonly server: ExtProcServer;
  readonly drain: Drain;
  readonly process: ProcessWatch;
  readonly shadows: readonly Shadow[];
  readonly replica: Replica | undefined;
  readonly promotion: Promotion | undefined;
  readonly discovery: ListedEndpoints | undefined;
  readonly kubernetes: KubernetesDiscovery | undefined;
  readonly election: LeaderElection | undefined;
  readonly serving: ServingState;
  readonly reload: ConfigReload | undefined;
  readonly headroom: Headroom;
}

function adminOptions(
  options: ServeOptions,
  parts: ServingParts,
): Parameters<typeof startAdminServer>[0] {
  const { host, metricsPort, poolName: pool, policy = '' } = options;
  const { metrics, runtime, rules, promotion } = parts;
  const { clock } = runtime;
  const now = (): number => clock.now();
  const documents = new Map([
    ['/debug/endpoints', () => describeEndpoints(parts, now())],
    ['/debug/rules', () => rules.describe()],
    ...debugDocuments({ ...parts, now }),
  ]);
  const about = { pool, policy, documents: [...documents.keys()] };
  return {
    host,
    port: metricsPort,
    ...adminAccess(options, { registry: metrics.registry, clock: runtime.clock, log: options.log }),
    metricsPage: () => metrics.pageBytes(),
    ready: () => parts.drain.readiness ?? readiness({ ...options, ...parts }, now()),
    documents,
    ...livePage({ ...parts, counts: parts.live, clock, about }),
    actions: withLogLevel(options.log, promotion && promotionActions(promotion)),
    slowPages: options.pprof === true ? profilePages(createProfiler(runtime.clock)) : undefined,
    tls: metricsTls(options, options.log),
  };
}

/** Puts shadows, a promoted shadow and a replacement scheduler on the metrics page. */
function registerSchedulers(
  registry: Registry,
  { picker, shadows, promotion }: Pick<ServingParts, 'picker' | 'shadows' | 'promotion'>,
): void {
  registerShadowMetrics(registry, shadows);
  registerSchedulerMetrics(registry, () => picker.replacement());
  if (promotion !== undefined) registerPromotionMetrics(registry, promotion);
}

/** Puts the pool on the metrics page, and logs minimums of roles and failed scrapes. */
function registerPool(
  { poolName, metricsStaleMs: staleMs, log }: ServeOptions,
  { picker, metrics, runtime: { clock } }: Pick<ServingParts, 'picker' | 'metrics' | 'runtime'>,
): void {
  const { registry } = metrics;
  registerFaultMetrics(registry, picker.faults);
  registerEjectionMetrics(registry, picker);
  registerHoldMetrics(registry, picker);
  registerExpiredReservations(registry, () => picker.reservations?.expired ?? 0);
  const snapshot = (): readonly Endpoint[] => picker.pool.snapshot();
  const { deprecated } = metrics;
  registerPoolMetrics({ registry, poolName, snapshot, clock, staleMs, deprecated });
  registerInFlight(registry, () => metrics.open.values(), snapshot);
  metrics.observePrefixIndexes(picker.observers(), snapshot);
  const roles = { observers: () => picker.observers(), clock };
  registerRoleMinimums(registry, roles);
  registerRollouts(registry, roles.observers);
  picker.pool.observeEndpoints(logRoleMinimums(roles, log));
  const failing = (): ReadonlyMap<string, number> => scrapeErrorsOf(picker.pool).failing();
  const onFailure = registerScrapeFailures(metrics, SCRAPE_FAILURES, failing);
  logScrapeErrors(picker.pool, { log, clock, onFailure });
  logEventTroubles(picker.pool, log, kvEventCounters(registry, DROP_REASONS));
  registerKvEventMetrics(registry, () => eventReport(picker.observers(), snapshot()));
}

function metricsOf(options: ServeOptions, clock: Clock): Pick<ServingParts, 'metrics' | 'process'> {
  const { metricsMaxSeries: linesMax, metricsIdleMs: idleMs } = options;
  const { deprecatedMetrics: deprecated, metricsMaxFairnessIds: fairnessIdsMax } = options;
  const metrics = new PickerMetrics({ linesMax, idleMs, clock, deprecated, fairnessIdsMax });
  return { metrics, process: watchProcess(options, { registry: metrics.registry, clock }) };
}

function telemetryOf(
  options: ServeOptions,
  { metrics: { registry }, runtime: { clock } }: Pick<ServingParts, 'metrics' | 'runtime'>,
): Promise<Telemetry | undefined> {
  return startTelemetry({ ...options, version: packageVersion(), registry, clock });
}

function promotionControlOf(
  { promotion, log }: ServeOptions,
  { clock, random }: RealRuntime,
): PromotionControl | undefined {
  return (
    promotion && new PromotionControl({ ...promotion, random: random.fork('canary'), clock, log })
  );
}

function recorderOf(
  { explainDecisions: decisionsMax, explainEndpoints: endpointsMax }: ServeOptions,
  clock: Clock,
): DecisionRecorder | undefined {
  return decisionsMax === 0
    ? undefined
    : new DecisionRecorder({ clock, decisionsMax, endpointsMax });
}

function reloadOf(
  { configFile: file, plan, log }: ServeOptions,
  {
    picker,
    router,
    metrics,
    deciding,
  }: Pick<ServingParts, 'metrics'> &
    StartedPicker & {
      readonly deciding: { parsers: readonly ParserType[] };
    },
): ConfigReload | undefined {
  const { registry } = metrics;
  const adopt = (next: PickerPlan): void => {
    const adopted = servingPlan(next);
    picker.adopt(adopted);
    router.configure(adopted.flowControl);
    deciding.parsers = next.parsers ?? [];
    registerSchedulerMetrics(registry, () => picker.replacement());
    metrics.observePrefixIndexes(picker.observers(), () => picker.pool.snapshot());
  };
  return file && startConfigReload({ file, plan, adopt, registry, log });
}
