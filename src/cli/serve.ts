import { readFileSync } from 'node:fs';
import { builtInCatalogue } from '../config/catalogue.ts';
import { NAMED_CONFIGS } from '../config/defaults.ts';
import { loadConfig, type PickerPlan } from '../config/load.ts';
import { dataSources } from '../datalayer/data-sources.ts';
import { startFileDiscovery } from '../datalayer/discovery/file-discovery.ts';
import { parseStaticEndpoints } from '../datalayer/discovery/static-discovery.ts';
import { createEndpointPicker, type EndpointPicker } from '../endpoint-picker.ts';
import { startExtProcServer } from '../extproc/server.ts';
import type { ScorerDefinition } from '../framework/plugin.ts';
import { startAdminServer } from '../observability/admin-server.ts';
import { debugEndpoints } from '../observability/debug-endpoints.ts';
import { instrumentation } from '../observability/instrument.ts';
import type { Log } from '../observability/log.ts';
import { createMetrics } from '../observability/metrics.ts';
import { requestMetrics } from '../observability/request-metrics.ts';
import { createOpenBody } from '../request/open-body.ts';
import { createRealRuntime } from '../runtime/real-runtime.ts';

export interface ServeOptions {
  readonly scorers: readonly ScorerDefinition[];
  /** Named configuration or a file's path; the zero-knob default when left out. */
  readonly config?: string | undefined;
  /** `host:port` each. */
  readonly endpoints: readonly string[];
  readonly endpointsFile?: string | undefined;
  readonly host: string;
  readonly extProcPort: number;
  readonly healthPort: number | undefined;
  readonly metricsPort: number;
  /** Plaintext. */
  readonly insecure: boolean;
  readonly certPath?: string | undefined;
  readonly bodyBytesMax: number;
  readonly earlyPickBytes: number;
  readonly halfCloseAfterPick: boolean;
  readonly drainTimeoutMs: number;
  readonly seed?: number | undefined;
  readonly log: Log;
}

export interface Serving {
  readonly extProcPort: number;
  readonly metricsPort: number;
  readonly picker: EndpointPicker;
  /** NOT_SERVING first, then streams in flight get `drainTimeoutMs`, then all is closed. */
  stop(): Promise<void>;
}

/** Starts the picker: decision core, endpoints, ext_proc server, admin server. Throws ConfigError on a bad configuration. */
export async function startServe(options: ServeOptions): Promise<Serving> {
  const { log } = options;
  const plan = planOf(options);
  for (const warning of plan.warnings) log.warn({ warning }, 'configuration');
  const seed = options.seed ?? randomInt(2 ** 31);
  const runtime = createRealRuntime({ seed });
  const metrics = createMetrics();
  const instrument = instrumentation(metrics, runtime.clock);
  const picker = createEndpointPicker({
    plan,
    runtime,
    wrapPlugin: instrument,
    wrapScheduler: instrument.scheduler,
    observers: [requestMetrics(metrics, runtime.clock)],
  });
  metrics.observePool(() => picker.pool.snapshot(), picker.ledger, runtime.clock);
  const discovery = await startDiscovery(options, plan, picker);
  const server = await startExtProcServer({
    host: options.host,
    port: options.extProcPort,
    tls: tlsOf(options),
    router: picker,
    openBody: createOpenBody({ bodyBytesMax: options.bodyBytesMax, hashSeed: seed }),
    sessionOptions: {
      earlyPickBytes: options.earlyPickBytes,
      halfCloseAfterPick: options.halfCloseAfterPick,
      bodyBytesMax: options.bodyBytesMax,
    },
    ...(options.healthPort !== undefined && { healthPort: options.healthPort }),
    onFault: (error) => log.error({ err: error }, 'a session failed; its request got a 500'),
    onRejected: (error, model) => metrics.countError(error.code, model),
  });
  const admin = await startAdminServer({
    host: options.host,
    port: options.metricsPort,
    metrics,
    ready: () => readiness(picker),
    debugEndpoints: () => debugEndpoints(picker, runtime.clock.now()),
  });
  server.setServing(true);
  log.info(
    { extProcPort: server.port, metricsPort: admin.port, endpoints: picker.pool.snapshot().length },
    'serving',
  );
  return {
    extProcPort: server.port,
    metricsPort: admin.port,
    picker,
    stop: async () => {
      await server.drain(options.drainTimeoutMs);
      await discovery.stop();
      picker.stop();
      await admin.stop();
      await runtime.network.close();
    },
  };
}

function planOf({ config = 'default', scorers }: ServeOptions): PickerPlan {
  const named = NAMED_CONFIGS.get(config);
  return loadConfig({
    text: named ?? readConfigFile(config),
    source: named === undefined ? config : `built-in config ${config}`,
    catalogue: builtInCatalogue(scorers, dataSources),
  });
}
