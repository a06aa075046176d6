import { randomInt } from 'node:crypto';
import { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import type { ExtProcServer } from '../extproc/server/ext-proc-server.ts';
import { packageVersion } from '../files/folders.ts';
import type { Endpoint } from '../framework/endpoint.ts';
import type { Clock } from '../framework/runtime.ts';
import { DecisionRecorder } from '../journal/explain/decision-recorder.ts';
import { PickerMetrics } from '../journal/metrics/metrics.ts';
import { registerSchedulerMetrics } from '../journal/metrics/process/scheduler-metrics.ts';
import type { PickerPlan } from '../picker/plan/picker-plan.ts';
import { createRealRuntime, type RealRuntime } from '../runtime/real-runtime.ts';
import { startTelemetry, type Telemetry } from '../telemetry/start-telemetry.ts';
import { type AdminServer, startAdminServer } from './admin/admin-server.ts';
import { type AdminParts, adminOptions } from './admin-options.ts';
import { startAutoscaling } from './autoscaling/start-autoscaling.ts';
import { type RequestReading, requestReading } from './extproc/request-reading.ts';
import { type StartedServer, startServer } from './extproc/start-server.ts';
import { type ConfigReload, startConfigReload } from './lifecycle/config-reload.ts';
import { Drain } from './lifecycle/drain.ts';
import { joinElection } from './lifecycle/join-election.ts';
import { logStart, logWarnings } from './lifecycle/log-start.ts';
import { ServingState } from './lifecycle/serving-state.ts';
import { type ProcessWatch, watchProcess } from './lifecycle/watch-process.ts';
import { checkIoWorkers } from './options/check-io-workers.ts';
import type { RecordingOptions, ServeOptions } from './options/serve-options.ts';
import { followEndpoints } from './picker/endpoint-discovery.ts';
import { PromotionControl } from './picker/promotion-control.ts';
import { registerPool } from './picker/register-metrics.ts';
import { servingPlan } from './picker/serving-plan.ts';
import { type StartedPicker, type StartPickerParts, startPicker } from './picker/start-picker.ts';
import { startWatchers, type Watchers } from './picker/watchers.ts';
import { sharedSecret } from './replicas/create-replica.ts';
import { type ServeTls, startTls } from './tls/start-tls.ts';

export interface Serving {
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  readonly scalerPort: number | undefined;
  /**
   * Reports NOT_SERVING, accepts requests until gateways have noticed (at once, `notice: false`),
   * waits for streams in flight up to the time-out, then closes all.
   */
  stop(how?: { readonly notice: boolean }): Promise<void>;
}

/** Starts all parts of a serving picker. Throws ConfigError for files that cannot be used. */
export async function startServe(options: ServeOptions): Promise<Serving> {
  const { log } = options;
  checkOptions(options);
  const seed = options.seed ?? randomInt(2 ** 31);
  const warnOfFile = (message: string): void => log.warn({}, message);
  const runtime = createRealRuntime({ seed, secret: sharedSecret(options), warnOfFile });
  const { clock } = runtime;
  const { metrics, process } = metricsOf(options, clock);
  const tls = await startTls(options.tls, { registry: metrics.registry, clock, log });
  const observing = await observingOf(options, { metrics, runtime });
  const { recorder, telemetry } = observing;
  const rules = new RequestRules(runtime.random.fork('rules'));
  const started = startPicker(options, { seed, runtime, rules, ...observing });
  const { picker, router, live, headroom, replica } = started;
  const { tlsFiles } = runtime.network;
  const watched = { ...started, ...observing, clock, tlsFiles, registry: metrics.registry };
  const watchers = startWatchers(options, watched);
  const { shadows, promotion, recording } = watchers;
  registerPool(options, { picker, router, metrics, runtime });
  const scaled = { ...options.autoscaling, host: options.listen.host, log };
  const scaling = await startAutoscaling(scaled, { headroom, metrics, clock });
  const { reading, adopt: adoptReading } = requestReading(options);
  const serving = servingStateOf(options, reading);
  const endpoints = await followEndpoints(options, { picker, metrics, runtime, rules, serving });
  const served = { ...runtime, ...started, ...reading, ...observing, rules, tls, seed };
  const { server, refresh } = await startServer(options, served);
  const election = await joinElection(options, { metrics, runtime, serving });
  const reload = reloadOf(options, { ...started, metrics, adoptReading, refresh });
  const watching = { shadows, promotion, recording };
  const observers = { recorder, live, process, headroom, replica, ...watching };
  const followers = { ...endpoints, election, reload, serving, tls };
  const drain = new Drain(options.drain, server);
  const parts = { ...started, metrics, runtime, rules, server, drain, ...observers, ...followers };
  const admin = await startAdminServer(adminOptions(options, parts));
  serving.attach(server);
  const ports = portsOf(server, { metricsPort: admin.port, ...scaling });
  logStart(options, { picker, tls, ports });
  return {
    ...ports,
    stop: (how = { notice: true }) =>
      stopServing({ ...parts, scaling, watchers, admin, telemetry }, how),
  };
}

interface StopParts
  extends Pick<AdminParts, 'drain' | 'serving' | 'election' | 'reload' | 'discovery'>,
    Pick<AdminParts, 'kubernetes' | 'replica' | 'promotion' | 'router' | 'picker' | 'process'>,
    Pick<AdminParts, 'runtime'> {
  readonly tls: Pick<ServeTls, 'stop'>;
  readonly scaling: { stop(): void };
  readonly watchers: Pick<Watchers, 'stop'>;
  readonly admin: Pick<AdminServer, 'stop'>;
  readonly telemetry: Telemetry | undefined;
}

/** Ends requests first, then what changes the picker, and at last what shows it to others. */
async function stopServing(parts: StopParts, how: { readonly notice: boolean }): Promise<void> {
  const { drain, election, reload, discovery, replica } = parts;
  parts.serving.detach();
  // Another picker may already lead while requests in flight end here.
  await Promise.all([drain.run(how), election?.stop()]);
  await Promise.all([reload?.stop(), discovery?.stop(), replica?.stop()]);
  parts.kubernetes?.stop();
  for (const part of [parts.promotion, parts.router, parts.picker]) part?.stop();
  for (const part of [parts.process, parts.scaling]) part.stop();
  await parts.watchers.stop();
  await Promise.all([parts.admin.stop(), parts.tls.stop(), parts.telemetry?.stop()]);
  await parts.runtime.network.close();
}

/** Warns of options that may be wrong. Throws ConfigError for those that are. */
function checkOptions(options: ServeOptions): void {
  const { plan, observe, listen, log } = options;
  checkIoWorkers({ observe, ...listen }, plan);
  logWarnings(log, plan.warnings);
}

function portsOf(
  { port, healthPort }: Pick<ExtProcServer, 'port' | 'healthPort'>,
  { metricsPort, scalerPort }: Pick<Serving, 'metricsPort' | 'scalerPort'>,
): Omit<Serving, 'stop'> {
  return { extProcPort: port, healthPort, metricsPort, scalerPort };
}

/** What health says. */
function servingStateOf(
  { pool, log }: ServeOptions,
  { parsers }: Pick<RequestReading, 'parsers'>,
): ServingState {
  const known = pool.kubernetes === undefined;
  return new ServingState({ leads: pool.election === undefined, known }, { parsers, log });
}

function metricsOf(
  { metrics: shown, log }: ServeOptions,
  clock: Clock,
): Pick<AdminParts, 'metrics'> & { readonly process: ProcessWatch } {
  const { metricsMaxSeries: linesMax, metricsIdleMs: idleMs } = shown;
  const { deprecatedMetrics: deprecated, metricsMaxFairnessIds: fairnessIdsMax } = shown;
  const metrics = new PickerMetrics({ linesMax, idleMs, clock, deprecated, fairnessIdsMax });
  return {
    metrics,
    process: watchProcess({ ...shown, log }, { registry: metrics.registry, clock }),
  };
}

/** What learns of each decision, to show it or to build on it. */
async function observingOf(
  options: ServeOptions,
  parts: Pick<AdminParts, 'metrics' | 'runtime'>,
): Promise<Omit<StartPickerParts, 'seed' | 'runtime' | 'rules'>> {
  return {
    metrics: parts.metrics,
    recorder: recorderOf(options.recording, parts.runtime.clock),
    promotionControl: promotionControlOf(options, parts.runtime),
    telemetry: await telemetryOf(options, parts),
  };
}

function telemetryOf(
  options: ServeOptions,
  { metrics: { registry }, runtime: { clock } }: Pick<AdminParts, 'metrics' | 'runtime'>,
): Promise<Telemetry | undefined> {
  return startTelemetry({
    ...options.telemetry,
    version: packageVersion(),
    registry,
    clock,
    log: options.log,
  });
}

function promotionControlOf(
  { plan, pool, shadowing: { promotion }, log }: ServeOptions,
  { clock, random }: RealRuntime,
): PromotionControl | undefined {
  const inCharge = servingPlan(plan, pool.capacityPart);
  const parts = { inCharge, random: random.fork('canary'), clock, log };
  return promotion && new PromotionControl({ ...promotion, ...parts });
}

function recorderOf(
  { explainDecisions: decisionsMax, explainEndpoints: endpointsMax }: RecordingOptions,
  clock: Clock,
): DecisionRecorder | undefined {
  return decisionsMax === 0
    ? undefined
    : new DecisionRecorder({ clock, decisionsMax, endpointsMax });
}

function reloadOf(
  options: ServeOptions,
  {
    picker,
    router,
    metrics,
    adoptReading,
    refresh,
  }: Pick<AdminParts, 'metrics'> &
    StartedPicker &
    Pick<StartedServer, 'refresh'> & { readonly adoptReading: (plan: PickerPlan) => void },
): ConfigReload | undefined {
  const { configFile: file, plan, log, listen, pool } = options;
  const { registry } = metrics;
  const adopt = (next: PickerPlan): void => {
    const adopted = servingPlan(next, pool.capacityPart);
    checkIoWorkers(listen, adopted);
    picker.adopt(adopted);
    router.configure(adopted.flowControl);
    adoptReading(next);
    refresh();
    registerSchedulerMetrics(registry, { inCharge: () => picker.replacement() });
    const snapshot = (): readonly Endpoint[] => picker.pool.snapshot();
    metrics.observePrefixIndexes(picker, snapshot);
  };
  const { clock } = picker;
  return file && startConfigReload({ file, plan, adopt, registry, clock, log });
}
