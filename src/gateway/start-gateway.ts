import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Agent } from 'undici';
import { ListenError } from '../runtime/listen-error.ts';
import { createExtProcClient } from './ext-proc-client.ts';
import { GatewayExchange } from './gateway-exchange.ts';

export interface GatewayOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Where the picker serves ext_proc, `host:port`. */
  readonly extProcAddress: string;
  readonly extProcTls: boolean;
  readonly log: (line: string) => void;
}

export interface Gateway {
  readonly port: number;
  /** Cuts what is still running. */
  stop(): Promise<void>;
}

/** Model servers keep idle connections for 5 s (uvicorn); ours must be the shorter. */
const UPSTREAM_IDLE_MS = 4_000;

/**
 * A small HTTP gateway that asks the picker over real ext_proc, in full duplex, as Envoy does. For machines where no
 * Envoy can be had: plaintext HTTP/1.1, one process, only the first of several destinations, no retries, no request trailers.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port, extProcAddress, extProcTls, log } = options;
  const extProc = createExtProcClient({ address: extProcAddress, tls: extProcTls });
  const upstreams = new Agent({ keepAliveTimeout: UPSTREAM_IDLE_MS, connections: null });
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const exchange = new GatewayExchange({ request, response, extProc, upstreams });
    // The client or the picker has gone while the body was on its way; the exchange has seen to both already.
    exchange.run().catch(() => undefined);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => reject(new ListenError(`${host}:${port}`, error)));
    server.listen(port, host, resolve);
  });
  const bound = (server.address() as AddressInfo).port;
  log(
    `this is the embedded gateway, not Envoy: for trying things out, on ${host}:${bound}, asking the picker at ${extProcAddress}`,
  );
  return {
    port: bound,
    stop: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      extProc.close();
      await upstreams.destroy();
    },
  };
}
