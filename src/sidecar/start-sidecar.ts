import type { Registry } from 'prom-client';
import { hostOf, portOf } from '../framework/values/server-address.ts';
import {
  type FrontDrain,
  type FrontExchange,
  HttpFront,
} from '../runtime/network/server/http-front.ts';
import { reservedFor } from './body/client-body.ts';
import { respondError } from './body/refusal.ts';
import { chooseContract, peerPortsOf } from './choose-contract.ts';
import { EarlierTurns } from './exchange/earlier-turns.ts';
import { BufferBudget } from './exchange/read-upload.ts';
import { type SidecarCounts, SidecarMetrics } from './exchange/sidecar-metrics.ts';
import { type SidecarParts, sparseLog } from './exchange/sidecar-parts.ts';
import { SIDECAR_BOUNDS, type SidecarOptions } from './options/sidecar-options.ts';
import { serveRequest } from './serve-request.ts';
import { type LegSender, Upstreams } from './servers/upstreams.ts';

export interface Sidecar {
  /** `host:port` of the first data-parallel rank. */
  readonly address: string;
  /** `host:port` of every data-parallel rank. */
  readonly addresses: readonly string[];
  readonly counts: Readonly<SidecarCounts>;
  readonly registry: Registry;
  /** Whether it ends and clients should go elsewhere. */
  readonly draining: boolean;
  /** Ends connections of clients without a request where no further file can be opened. */
  makeRoom(): void;
  /** Refuses health checks at once, ends when its requests have ended, at the latest in time. */
  drain(times: FrontDrain): Promise<void>;
  /** Closes all connections, including those of running requests. */
  stop(): Promise<void>;
}

const HEALTH_PATH = '/health';

/**
 * Starts the proxy in front of a decoding server, with a port for each data-parallel rank. A
 * generation request goes first to the encoders that a header names, item by item, then to the
 * prefilling server of another header, as the connector of the engines wants it. A stage that fails
 * is left to the decoding server. All other requests are forwarded unchanged. Rejects with a
 * ListenError.
 */
export async function startSidecar(options: SidecarOptions): Promise<Sidecar> {
  const { host, port, serving } = options;
  const ranks = Array.from({ length: options.dataParallelSize }, (_, rank) => rank);
  const upstreams = upstreamsOf(options);
  const parts = partsOf(options, upstreams, () =>
    fronts.reduce((sum, each) => sum + each.openRequests, 0),
  );
  const fronts = ranks.map((rank) => frontOf(rank, parts));
  const addresses: string[] = [];
  for (const [rank, front] of fronts.entries()) {
    const bound = await front.listen(host, port === 0 ? 0 : port + rank);
    addresses.push(`${host}:${bound}`);
  }
  const following = serving?.follow((context) => {
    for (const front of fronts) front.setTls(context);
  });
  const end = async (endFront: (front: HttpFront) => Promise<void>): Promise<void> => {
    await Promise.all(fronts.map(endFront));
    await upstreams.close();
    await following?.stop();
  };
  return {
    address: addresses[0] ?? '',
    addresses,
    counts: parts.metrics.counts,
    registry: parts.metrics.registry,
    get draining() {
      return fronts.some(({ draining }) => draining);
    },
    makeRoom: () => {
      for (const front of fronts) front.makeRoom();
    },
    drain: (times) => end((front) => front.drain(times)),
    stop: () => end((front) => front.stop()),
  };
}

/** The port of one data-parallel rank, before it listens. */
function frontOf(rank: number, parts: SidecarParts): HttpFront {
  const { bounds, metrics, options } = parts;
  const front: HttpFront = new HttpFront({
    clock: options.clock,
    tls: options.serving?.context(),
    requestsMax: bounds.requestsMax,
    onRefused: (response, status, message) => {
      metrics.onRequest('refused');
      respondError(response, status, message);
    },
    onRequest: (exchange) => {
      if (front.draining && isHealthCheck(exchange)) {
        respondError(exchange.response, 503, 'the sidecar ends');
      } else if (options.health === 'sidecar' && isHealthCheck(exchange)) {
        exchange.response.writeHead(200).end();
      } else void serveRequest(exchange, parts, rank);
    },
  });
  return front;
}

function upstreamsOf({ tls, clock, bounds }: SidecarOptions): Upstreams {
  const { connectTimeoutMs } = { ...SIDECAR_BOUNDS, ...bounds };
  return new Upstreams({ tls, connectTimeoutMs, clock });
}

function partsOf(
  options: SidecarOptions,
  upstreams: LegSender,
  openRequests: () => number,
): SidecarParts {
  const { clock, log, connector, ecConnector, registry } = options;
  const bounds = { ...SIDECAR_BOUNDS, ...options.bounds };
  const budget = new BufferBudget(bounds.bufferedBytesMax);
  const bufferedBytes = (): number => budget.bytes;
  const peerPorts = peerPortsOf(options);
  return {
    options,
    engines: enginesOf(options),
    bounds,
    upstreams,
    budget,
    metrics: new SidecarMetrics({ registry, openRequests, bufferedBytes, connector, ecConnector }),
    log: sparseLog(log, clock),
    contract: chooseContract(options, upstreams, peerPorts),
    reserved: reservedFor(connector),
    peerPorts,
    speculation: options.speculativePrefill ? { underWay: false } : undefined,
    earlierTurns: options.earlierTurns && new EarlierTurns(clock, options.earlierTurns),
  };
}

/** One engine for each rank, on consecutive ports. */
function enginesOf({ engine, dataParallelSize }: SidecarOptions): readonly string[] {
  const [host, port] = [hostOf(engine), Number(portOf(engine))];
  return Array.from({ length: dataParallelSize }, (_, rank) => `${host}:${port + rank}`);
}

function isHealthCheck({ request }: FrontExchange): boolean {
  return request.url === HEALTH_PATH;
}
