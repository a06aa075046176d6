import { createServer } from 'node:http';
import { Agent } from 'undici';
import { closeServer, listen } from '../runtime/listen.ts';
import { createExtProcClient } from './ext-proc-client.ts';
import { GatewayExchange } from './gateway-exchange.ts';

interface GatewayOptions {
  readonly host: string;
  readonly port: number;
  /** Where the picker serves ext_proc, `host:port`. */
  readonly extProcAddress: string;
  readonly extProcTls: boolean;
  readonly log: (line: string) => void;
}

export interface Gateway {
  readonly port: number;
  /** Closes all connections, including those of running requests. */
  stop(): Promise<void>;
}

/** Less than the 5 s for which model servers keep idle connections (uvicorn). */
const UPSTREAM_IDLE_MS = 4_000;

/**
 * An HTTP gateway that asks the picker over ext_proc in full duplex, for machines without Envoy:
 * plaintext HTTP/1.1, only the first of several destinations, no retries, no request trailers.
 */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { host, port, extProcAddress, extProcTls, log } = options;
  const extProc = createExtProcClient({ address: extProcAddress, tls: extProcTls });
  const upstreams = new Agent({ keepAliveTimeout: UPSTREAM_IDLE_MS, connections: null });
  const server = createServer({ requestTimeout: 0 }, (request, response) => {
    const exchange = new GatewayExchange({ request, response, extProc, upstreams });
    // The client or the picker closed its connection; the exchange has handled that already.
    exchange.run().catch(() => undefined);
  });
  const bound = await listen(server, host, port);
  const where = `listening on ${host}:${bound}, picker at ${extProcAddress}`;
  log(`this is the embedded gateway, not Envoy, for trials only: ${where}`);
  return {
    port: bound,
    stop: async () => {
      await closeServer(server);
      extProc.close();
      await upstreams.destroy();
    },
  };
}
