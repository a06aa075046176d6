import type { ConfigFile } from '../../catalogue/plan.ts';
import type { ApiAccess } from '../../endpoints/discovery/kubernetes/api/api-access.ts';
import type { InferencePoolSpec } from '../../endpoints/discovery/kubernetes/pool/inference-pool.ts';
import type { PoolName } from '../../endpoints/discovery/kubernetes/pool/pool-sources.ts';
import type { ServerLimits } from '../../extproc/server/port/server-limits.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { CapacityPart } from '../../picker/plan/capacity-plan.ts';
import type { PickerPlan } from '../../picker/plan/picker-plan.ts';
import type { PromotionRule } from '../../promotion/promotion-rule.ts';
import type { LevelledLog, Log } from '../../runtime/log/log.ts';
import type { ShadowData } from '../../shadow/shadow-data.ts';
import type { TelemetryOptions } from '../../telemetry/start-telemetry.ts';
import type { AdminAccessOptions } from '../admin/admin-access.ts';
import type { AutoscalingOptions } from '../autoscaling/start-autoscaling.ts';
import type { ElectionTiming } from '../election/leader-election.ts';
import type { ReplicasOptions } from '../replicas/create-replica.ts';
import type { MetricsTlsOptions } from '../tls/metrics-tls.ts';
import type { TlsOptions } from '../tls/start-tls.ts';

/**
 * The options of `pointsman serve`, read and checked, by the part of the picker that reads them.
 */
export interface ServeOptions {
  readonly plan: PickerPlan;
  /** The file or name of `plan`, for the log. */
  readonly policy?: string | undefined;
  /** The file of `plan`, which is read again when it changes. */
  readonly configFile?: ConfigFile | undefined;
  /** Decide nothing: follow the picker whose ext_proc filter comes first, see `ObserverSession`. */
  readonly observe?: boolean | undefined;
  readonly seed: number | undefined;
  /** With a level, it can be changed by `/log-level` of the metrics port. */
  readonly log: Log | LevelledLog;
  readonly listen: ListenOptions;
  readonly tls: TlsOptions;
  readonly admin: AdminOptions;
  readonly pool: PoolOptions;
  readonly requests: RequestOptions;
  readonly drain: DrainOptions;
  readonly metrics: MetricsOptions;
  readonly recording: RecordingOptions;
  readonly shadowing: ShadowingOptions;
  /** Shares with other pickers over NATS; undefined: with none. */
  readonly replicas?: ReplicasOptions | undefined;
  readonly autoscaling: Partial<AutoscalingOptions>;
  readonly telemetry: Pick<TelemetryOptions, 'tracing' | 'accessLog'>;
}

/** The ports, 0 selecting a free one, and the threads behind them. */
export interface ListenOptions {
  readonly host: string;
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** Threads that serve gateways beside the one that decides; 0: that one serves them, too. */
  readonly ioWorkers?: number | undefined;
}

/** Who may use the metrics port, and for what. */
export interface AdminOptions extends Omit<AdminAccessOptions, 'kubernetes'>, MetricsTlsOptions {
  /** Makes profiles of the process at `/debug/pprof/` of the metrics port. */
  readonly pprof?: boolean | undefined;
}

/** Which endpoints there are, and how much of them this picker may use. */
export interface PoolOptions {
  readonly poolName: string;
  /** `host:port`; host names are resolved and followed. */
  readonly endpoints: readonly string[];
  readonly endpointsFile: string | undefined;
  /** How long the last addresses of a host name are kept while it cannot be resolved. */
  readonly dnsKeepMs: number;
  /**
   * Data-parallel ranks of each server that has no label about it, 1 if not given: with several, each
   * is an endpoint, and requests name it by a header.
   */
  readonly dataParallelSize?: number | undefined;
  /** The InferencePool to follow, or the pods of `spec`; there are no other endpoints then. */
  readonly kubernetes?:
    | {
        readonly access: ApiAccess;
        readonly pool: PoolName;
        readonly spec?: InferencePoolSpec | undefined;
      }
    | undefined;
  /** The picker is then ready only while it leads those of its pool. Needs `kubernetes`. */
  readonly election?:
    | { readonly identity: string; readonly timing?: ElectionTiming | undefined }
    | undefined;
  /** With fewer endpoints that have a fresh sample, `/readyz` answers 503. */
  readonly readyMinFresh: number;
  /** The part of each endpoint's capacity that this picker may use. */
  readonly capacityPart?: CapacityPart | undefined;
}

/** How requests are read, bounded and answered. */
export interface RequestOptions {
  readonly bodyBytesMax: number;
  readonly earlyPickBytes: number;
  readonly halfCloseAfterPick: boolean;
  /** Requests may go to any endpoint, whatever subset the proxy names. */
  readonly disableEndpointSubsetFilter?: boolean | undefined;
  /** Whether proxies get the score of each endpoint as metadata. */
  readonly emitEndpointScores?: boolean | undefined;
  /** Whether model servers are asked for their load with each answer (ORCA). */
  readonly loadReports?: boolean | undefined;
  /** Control headers and fields of clients count, see docs/model-rewrites.md. */
  readonly trustClientControls?: boolean | undefined;
  /** A reservation that is still open at this age is released; without it, or at 0, none is. */
  readonly maxReservationAgeMs?: number | undefined;
  readonly limits: ServerLimits;
}

/** How the picker goes out of service. */
export interface DrainOptions {
  /** After SIGTERM, requests are accepted for so long, while health says NOT_SERVING. */
  readonly drainNoticeMs: number;
  readonly drainTimeoutMs: number;
}

/** What the picker's own metrics page shows. */
export interface MetricsOptions {
  /**
   * The most lines of the metrics page with labels of clients, and when unused ones are dropped.
   */
  readonly metricsMaxSeries?: number | undefined;
  readonly metricsIdleMs?: Millis | undefined;
  /** The most fairness ids with lines of their own on the metrics page; 0: none. */
  readonly metricsMaxFairnessIds?: number | undefined;
  /** Shows metrics under the reference's former names, too. */
  readonly deprecatedMetrics?: boolean | undefined;
  /** Shows metrics of the streams of gateways as the reference has them. */
  readonly grpcStreamMetrics?: boolean | undefined;
  /** A sample that is older does not count as fresh in metrics and readiness. */
  readonly metricsStaleMs?: Millis | undefined;
  /** The picker is degraded while the event loop is later than this (p99); 0 for never. */
  readonly loopDelayMaxMs?: Millis | undefined;
}

/** What is kept of decisions. */
export interface RecordingOptions {
  /** Where to write a capture, and how much at most; undefined writes none. */
  readonly capture?: { readonly folder: string; readonly bytesMax: number } | undefined;
  /** The number of recent decisions that can be explained; 0 records none. */
  readonly explainDecisions: number;
  /** In larger pools only the scores of the best endpoints are kept for explanations. */
  readonly explainEndpoints?: number | undefined;
}

/** Which configurations decide beside the one in charge. */
export interface ShadowingOptions {
  /** Configurations that decide every request, too, without effect. */
  readonly shadows?: readonly ShadowData[] | undefined;
  /** The plans of the shadows: records for shadows include the headers that these plans read. */
  readonly shadowPlans?: readonly PickerPlan[] | undefined;
  /** Where to write the shadows' decisions, and how much at most. */
  readonly shadowLog?: { readonly path: string; readonly bytesMax: number } | undefined;
  /** Lets shadows decide, manually and by a rule. `plans` are those of `shadows`, by name. */
  readonly promotion?:
    | { readonly rule?: PromotionRule | undefined; readonly plans: ReadonlyMap<string, PickerPlan> }
    | undefined;
}

/** The same options side by side, as flags give them. */
export type ServeSettings = Pick<
  ServeOptions,
  'plan' | 'policy' | 'configFile' | 'observe' | 'seed' | 'log' | 'replicas'
> &
  ListenOptions &
  TlsOptions &
  AdminOptions &
  PoolOptions &
  RequestOptions &
  DrainOptions &
  MetricsOptions &
  RecordingOptions &
  ShadowingOptions &
  ServeOptions['autoscaling'] &
  ServeOptions['telemetry'];

/** The settings by part: the types let each part read only its own. */
export function serveOptionsOf(settings: ServeSettings): ServeOptions {
  const { plan, policy, configFile, observe, seed, log, replicas } = settings;
  return {
    plan,
    policy,
    configFile,
    observe,
    seed,
    log,
    replicas,
    listen: settings,
    tls: settings,
    admin: settings,
    pool: settings,
    requests: settings,
    drain: settings,
    metrics: settings,
    recording: settings,
    shadowing: settings,
    autoscaling: settings,
    telemetry: settings,
  };
}
