import type { KubernetesDiscovery } from '../endpoints/discovery/kubernetes/start-kubernetes.ts';
import type { RequestRules } from '../endpoints/rewrites/request-rules.ts';
import type { ExtProcServer } from '../extproc/server/ext-proc-server.ts';
import type { DecisionRecorder } from '../journal/explain/decision-recorder.ts';
import type { Headroom } from '../journal/headroom/headroom.ts';
import type { PickerMetrics } from '../journal/metrics/metrics.ts';
import { formatFor } from '../journal/metrics/page/page-format.ts';
import type { Promotion } from '../promotion/promotion.ts';
import type { Replica } from '../replicas/replica.ts';
import { createProfiler } from '../runtime/process/profiler.ts';
import type { RealRuntime } from '../runtime/real-runtime.ts';
import type { Shadow } from '../shadow/start-shadow.ts';
import { adminAccess } from './admin/admin-access.ts';
import type { Readiness } from './admin/admin-routes.ts';
import type { AdminServerOptions } from './admin/admin-server.ts';
import { debugDocuments } from './admin/debug-documents.ts';
import { withLogLevel } from './admin/log-level.ts';
import { profilePages } from './admin/profiles.ts';
import type { LeaderElection } from './election/leader-election.ts';
import type { ConfigReload } from './lifecycle/config-reload.ts';
import type { Drain } from './lifecycle/drain.ts';
import { readiness } from './lifecycle/readiness.ts';
import type { ServingState } from './lifecycle/serving-state.ts';
import type { ProcessWatch } from './lifecycle/watch-process.ts';
import type { LiveCounts } from './live/live-counts.ts';
import { livePage } from './live/live-page.ts';
import type { ServeOptions } from './options/serve-options.ts';
import type { ListedEndpoints } from './picker/endpoint-discovery.ts';
import { promotionActions } from './picker/promotion-control.ts';
import type { StartedPicker } from './picker/start-picker.ts';
import type { Watchers } from './picker/watchers.ts';
import { metricsTls } from './tls/metrics-tls.ts';
import type { ServeTls } from './tls/start-tls.ts';

/** The parts of a serving picker that the admin port shows. */
export interface AdminParts extends Pick<StartedPicker, 'picker' | 'router'> {
  readonly metrics: PickerMetrics;
  readonly recorder: DecisionRecorder | undefined;
  readonly live: LiveCounts;
  readonly runtime: RealRuntime;
  readonly rules: RequestRules;
  readonly server: ExtProcServer;
  readonly drain: Drain;
  readonly tls: Pick<ServeTls, 'lastError' | 'invalidity'>;
  readonly process: ProcessWatch;
  readonly shadows: readonly Shadow[];
  readonly recording: Watchers['recording'];
  readonly replica: Replica | undefined;
  readonly promotion: Promotion | undefined;
  readonly discovery: ListedEndpoints | undefined;
  readonly kubernetes: KubernetesDiscovery | undefined;
  readonly election: LeaderElection | undefined;
  readonly serving: ServingState;
  readonly reload: ConfigReload | undefined;
  readonly headroom: Headroom;
}

/** What the admin port serves, and to whom. */
export function adminOptions(options: ServeOptions, parts: AdminParts): AdminServerOptions {
  const { admin, listen, policy = '', log } = options;
  const { poolName, readyMinFresh, kubernetes } = options.pool;
  const { metricsStaleMs } = options.metrics;
  const { metrics, runtime, promotion } = parts;
  const { clock } = runtime;
  const { tlsFiles } = runtime.network;
  const now = (): number => clock.now();
  const documents = debugDocuments(parts, now);
  const tls = metricsTls(admin, { log, registry: metrics.registry, clock });
  const bounds = { readyMinFresh, metricsStaleMs };
  const ready = (): Readiness =>
    parts.drain.readiness ?? readiness({ ...bounds, ...parts, metricsTls: tls, tlsFiles }, now());
  const about = { pool: poolName, policy, documents: [...documents.keys()] };
  return {
    host: listen.host,
    port: listen.metricsPort,
    ...adminAccess({ ...admin, kubernetes }, { registry: metrics.registry, clock, log }),
    metricsPage: async (accept) => {
      const format = formatFor(accept);
      return { contentType: format.contentType, body: await metrics.pageBytes(format) };
    },
    ready,
    documents,
    ...livePage({
      ...parts,
      counts: parts.live,
      clock,
      about,
      health: ready,
      promoted: () => promotion?.promoted,
    }),
    actions: withLogLevel(log, promotion && promotionActions(promotion)),
    slowPages: admin.pprof === true ? profilePages(createProfiler(clock)) : undefined,
    tls,
  };
}
