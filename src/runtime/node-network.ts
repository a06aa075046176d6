import { performance } from 'node:perf_hooks';
import type { HttpGetOptions, HttpResponse, Millis, Network } from '../framework/runtime.ts';
import { HttpOrigin } from './http-origin.ts';

/** An origin not asked for so long has left the pool; its connection and its memory are let go. */
const IDLE_MS = 30_000;

export interface NodeNetwork extends Network {
  /** Breaks off what is under way. A `get` afterwards rejects. */
  close(): Promise<void>;
}

export interface NodeNetworkOptions {
  /** How long an origin's connection is kept after its last use. */
  readonly idleMs?: Millis;
}

/**
 * HTTP over undici, one kept-alive connection an origin, straight on its dispatcher: no streams. Gets of one origin
 * follow each other; certificates are not verified, as pods have none that could be.
 */
export function createNodeNetwork({ idleMs = IDLE_MS }: NodeNetworkOptions = {}): NodeNetwork {
  const origins = new Map<string, HttpOrigin>();
  let closed = false;
  const sweep = setInterval(() => {
    const before = performance.now() - idleMs;
    for (const [name, origin] of origins) {
      if (!origin.isIdleSince(before)) continue;
      origins.delete(name);
      void origin.close();
    }
  }, idleMs).unref();

  return {
    get(url: URL, options: HttpGetOptions): Promise<HttpResponse> {
      if (closed) return Promise.reject(new Error(`the network is closed, ${url.href} not asked`));
      let origin = origins.get(url.origin);
      if (origin === undefined) {
        origin = new HttpOrigin(url.origin, idleMs);
        origins.set(url.origin, origin);
      }
      return origin.get(url, options);
    },
    async close() {
      closed = true;
      clearInterval(sweep);
      await Promise.all([...origins.values()].map((origin) => origin.close()));
      origins.clear();
    },
  };
}
