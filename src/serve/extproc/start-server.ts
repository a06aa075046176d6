import type { Registry } from 'prom-client';
import { type ExtProcServer, startExtProcServer } from '../../extproc/server/ext-proc-server.ts';
import { type IoWorkers, startIoWorkers } from '../../io-workers/io-workers.ts';
import { registerStreamMetrics } from '../../journal/metrics/answers/stream-metrics.ts';
import { showMetric } from '../../journal/metrics/page/family.ts';
import type { ServeOptions } from '../options/serve-options.ts';
import type { StartedPicker } from '../picker/start-picker.ts';
import { extProcOptions } from './ext-proc-options.ts';
import { type IoWorkersParts, ioWorkersOptions } from './io-workers-options.ts';
import { ignoredControls } from './served-readers.ts';

/** The server that gateways use. */
export interface StartedServer {
  readonly server: ExtProcServer;
  /**
   * To be called when the rules by which requests are read have changed: I/O workers get the new
   * ones.
   */
  readonly refresh: () => void;
}

/**
 * Serves in this thread, or with `ioWorkers` in others. Throws ConfigError, and rejects with a
 * ListenError.
 */
export async function startServer(
  options: ServeOptions,
  parts: Omit<IoWorkersParts, 'onIgnored'> & StartedPicker,
): Promise<StartedServer> {
  // Others' requests can be booked now that the endpoints are known.
  parts.replica?.start(parts.picker);
  const { registry } = parts.metrics;
  const given = { ...parts, onIgnored: ignoredControls(options, registry) };
  const started = await start(options, given);
  registerStreamMetrics(registry, () => started.server.usage(), options.metrics.grpcStreamMetrics);
  return started;
}

async function start(options: ServeOptions, parts: IoWorkersParts): Promise<StartedServer> {
  const served = extProcOptions(options, parts);
  const { ioWorkers = 0 } = options.listen;
  const { session } = served;
  if (ioWorkers === 0 || 'observer' in session) {
    return { server: await startExtProcServer(served), refresh: () => undefined };
  }
  const workers = await startIoWorkers(ioWorkersOptions(options, parts, { ...served, session }));
  showRestarts(parts.metrics.registry, workers);
  return { server: workers, refresh: () => workers.refresh() };
}

function showRestarts(registry: Registry, workers: IoWorkers): void {
  const name = 'pointsman_io_worker_restarts_total';
  const help = 'I/O workers that were started again because they had died.';
  showMetric(registry, { name, help, type: 'counter' }, () => [
    { labels: {}, value: workers.restarts() },
  ]);
}
