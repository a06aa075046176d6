import type { Registry } from 'prom-client';
import { eventReport } from '../../endpoints/kv-events/event-report.ts';
import { logEventTroubles } from '../../endpoints/kv-events/health/log-event-troubles.ts';
import { DROP_REASONS } from '../../endpoints/kv-events/messages/check-structure.ts';
import { logScrapeErrors } from '../../endpoints/scraping/log-scrape-errors.ts';
import { SCRAPE_FAILURES, scrapeErrorsOf } from '../../endpoints/scraping/scrape-errors.ts';
import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import type { PickerMetrics } from '../../journal/metrics/metrics.ts';
import { registerEjectionMetrics } from '../../journal/metrics/pool/ejection-metrics.ts';
import { registerInFlight } from '../../journal/metrics/pool/inflight-metrics.ts';
import {
  kvEventCounters,
  registerKvEventMetrics,
} from '../../journal/metrics/pool/kv-event-metrics.ts';
import { registerMediaMetrics } from '../../journal/metrics/pool/media-metrics.ts';
import {
  registerPoolMetrics,
  registerScrapeFailures,
} from '../../journal/metrics/pool/pool-metrics.ts';
import { logRoleMinimums, registerRoleMinimums } from '../../journal/metrics/pool/role-minimums.ts';
import { registerRollouts } from '../../journal/metrics/pool/rollout-metrics.ts';
import { registerTransferFailures } from '../../journal/metrics/pool/transfer-metrics.ts';
import {
  registerExpiredReservations,
  registerFaultMetrics,
} from '../../journal/metrics/process/fault-metrics.ts';
import { registerOutgoingTls } from '../../journal/metrics/process/outgoing-tls-metrics.ts';
import { registerSchedulerMetrics } from '../../journal/metrics/process/scheduler-metrics.ts';
import { registerWaitingMetrics } from '../../journal/metrics/waiting/waiting-metrics.ts';
import type { EndpointPicker } from '../../picker/endpoint-picker.ts';
import type { Promotion } from '../../promotion/promotion.ts';
import { registerPromotionMetrics } from '../../promotion/promotion-metrics.ts';
import type { RealRuntime } from '../../runtime/real-runtime.ts';
import { registerShadowMetrics } from '../../shadow/shadow-metrics.ts';
import type { Shadow } from '../../shadow/start-shadow.ts';
import type { ServeOptions } from '../options/serve-options.ts';

interface SchedulerParts {
  readonly picker: EndpointPicker;
  readonly shadows: readonly Shadow[];
  readonly promotion: Promotion | undefined;
}

interface PoolParts {
  readonly picker: EndpointPicker;
  readonly router: Parameters<typeof registerWaitingMetrics>[2];
  readonly metrics: PickerMetrics;
  readonly runtime: RealRuntime;
}

/** Puts shadows, a promoted shadow and a replacement scheduler on the metrics page. */
export function registerSchedulers(
  registry: Registry,
  { picker, shadows, promotion }: SchedulerParts,
): void {
  registerShadowMetrics(registry, shadows);
  registerSchedulerMetrics(registry, {
    inCharge: () => picker.replacement(),
    promoted: promotion && (() => picker.challengerReplacement()),
  });
  if (promotion !== undefined) registerPromotionMetrics(registry, promotion);
}

/** Puts the pool on the metrics page, and logs minimums of roles and failed scrapes. */
export function registerPool(
  { pool: { poolName }, metrics: { metricsStaleMs: staleMs }, log }: ServeOptions,
  { picker, router, metrics, runtime: { clock, network } }: PoolParts,
): void {
  const { registry } = metrics;
  registerFaultMetrics(registry, picker.faults);
  registerOutgoingTls(registry, network.tlsFiles);
  const scrapeErrors = scrapeErrorsOf(picker.pool);
  const isFailing = (id: EndpointId): boolean => scrapeErrors.of(id) !== undefined;
  registerEjectionMetrics(registry, picker, isFailing);
  registerWaitingMetrics(registry, picker, router);
  registerExpiredReservations(registry, () => picker.reservations?.expired ?? 0);
  const snapshot = (): readonly Endpoint[] => picker.pool.snapshot();
  const { deprecated } = metrics;
  registerPoolMetrics({ registry, poolName, snapshot, clock, staleMs, deprecated });
  registerTransferFailures(registry, poolName, snapshot);
  registerInFlight(registry, () => metrics.open.values(), snapshot);
  metrics.observePrefixIndexes(picker, snapshot);
  const roles = { observers: () => picker.observers(), clock };
  registerRoleMinimums(registry, roles);
  registerRollouts(registry, roles.observers);
  registerMediaMetrics(registry, roles.observers);
  picker.pool.observeEndpoints(logRoleMinimums(roles, log));
  const failing = (): ReadonlyMap<string, number> => scrapeErrors.failing();
  const onFailure = registerScrapeFailures(metrics, SCRAPE_FAILURES, failing);
  logScrapeErrors(picker.pool, { log, clock, onFailure });
  logEventTroubles(picker.pool, { log, clock, ...kvEventCounters(registry, DROP_REASONS) });
  registerKvEventMetrics(registry, () => eventReport(picker.observers(), snapshot()));
}
