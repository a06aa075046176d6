import type { Registry } from 'prom-client';
import type { Millis } from '../framework/runtime.ts';
import { type FrontExchange, HttpFront } from '../runtime/http-front.ts';
import { BufferBudget } from './read-upload.ts';
import { respondError } from './refusal.ts';
import { serveRequest } from './serve-request.ts';
import { SidecarMetrics } from './sidecar-metrics.ts';
import { SIDECAR_BOUNDS, type SidecarOptions } from './sidecar-options.ts';
import { type SidecarCounts, type SidecarParts, sparseLog } from './sidecar-parts.ts';
import { Upstreams } from './upstreams.ts';

export interface Sidecar {
  /** `host:port`. */
  readonly address: string;
  readonly counts: Readonly<SidecarCounts>;
  readonly registry: Registry;
  /** Whether it ends and clients should go elsewhere. */
  readonly draining: boolean;
  /** Refuses health checks at once, ends when its requests have ended, at the latest in time. */
  drain(times: { readonly drainNoticeMs: Millis; readonly drainTimeoutMs: Millis }): Promise<void>;
  /** Closes all connections, including those of running requests. */
  stop(): Promise<void>;
}

const HEALTH_PATH = '/health';

/**
 * Starts the proxy in front of a decoding server. A generation request goes first to the encoders
 * that a header names, item by item, then for one token to the prefilling server of another header,
 * then on with the answer about the KV (NIXL's contract). A stage that fails is left to the
 * decoding server. All other requests are forwarded unchanged. Rejects with a ListenError.
 */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { host, port, clock, tls, log } = options;
  const bounds = { ...SIDECAR_BOUNDS, ...options.bounds };
  const budget = new BufferBudget(bounds.bufferedBytesMax);
  const upstreams = new Upstreams({ tls, connectTimeoutMs: bounds.connectTimeoutMs, clock });
  const counts: SidecarCounts = { prefilled: 0, encoded: 0, fellBack: 0 };
  const metrics = new SidecarMetrics({
    openRequests: () => front.openRequests,
    bufferedBytes: () => budget.bytes,
  });
  const lines = sparseLog(log, clock);
  const parts: SidecarParts = { options, bounds, upstreams, budget, counts, metrics, log: lines };
  const front: HttpFront = new HttpFront({
    clock,
    requestsMax: bounds.requestsMax,
    onRefused: (response, status, message) => {
      metrics.onRequest('refused');
      respondError(response, status, message);
    },
    onRequest: (exchange) => {
      if (front.draining && isHealthCheck(exchange)) {
        respondError(exchange.response, 503, 'the sidecar ends');
      } else void serveRequest(exchange, parts);
    },
  });
  const bound = await front.listen(host, port);
  const stop = async (): Promise<void> => {
    await front.stop();
    await upstreams.close();
  };
  return {
    address: `${host}:${bound}`,
    counts,
    registry: metrics.registry,
    get draining() {
      return front.draining;
    },
    drain: async (times) => {
      await front.drain(times);
      await upstreams.close();
    },
    stop,
  };
}

function isHealthCheck({ request }: FrontExchange): boolean {
  return request.url === HEALTH_PATH;
}
