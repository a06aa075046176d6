import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, Random } from '../src/framework/runtime.ts';
import { nodeClock } from '../src/runtime/node-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { Engine } from './engine.ts';
import type { Replica } from './http/replica.ts';
import { createStubServer } from './http/server.ts';
import { linearLatency } from './latency-model.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';
import { EngineStats } from './metrics/engine-stats.ts';
import { createMetricsPage, DIALECTS } from './metrics/metrics-page.ts';
import { KV_LINK_DEFAULT, KvTransfers } from './pd/kv-transfers.ts';
import { scaledClock } from './scaled-clock.ts';
import type { StubOptions } from './stub-options.ts';

export interface StubEndpoint {
  /** `host:port`. */
  readonly address: string;
  readonly engine: Engine;
}

export interface StubPool {
  readonly endpoints: readonly StubEndpoint[];
  stop(): Promise<void>;
}

/** Starts a pool of model servers in this process, one port each. */
export async function startStubPool(options: StubOptions): Promise<StubPool> {
  const clock = scaledClock(nodeClock(), options.speed);
  const random = seededRandom(options.seed);
  const servers: Server[] = [];
  const replicas = new Map<string, Replica>();
  for (let index = 0; index < options.count; index++) {
    const name = `stub-${index}`;
    const replica = createReplica(name, { options, clock, random: random.fork(name) });
    replicas.set(name, replica);
    const server = createStubServer(replica, (engineId) => replicas.get(engineId));
    await listen(server, options.host, options.port === 0 ? 0 : options.port + index);
    servers.push(server);
    replica.address = `${options.host}:${(server.address() as AddressInfo).port}`;
  }
  return {
    endpoints: [...replicas.values()].map(({ address, engine }) => ({ address, engine })),
    stop: async () => void (await Promise.all(servers.map(close))),
  };
}

function createReplica(
  name: string,
  parts: { readonly options: StubOptions; readonly clock: Clock; readonly random: Random },
): Replica {
  const { options, clock, random } = parts;
  const stats = new EngineStats(options.kvBlocks * options.blockTokens);
  const engine = new Engine({
    ...options,
    clock,
    latency: linearLatency({ kind: 'linear', ...options }),
    observer: stats,
    loras: { ...LORA_DEFAULTS, slots: options.lorasMax, hostSlots: options.lorasMax },
  });
  const metricsPage = createMetricsPage(DIALECTS[options.engine], {
    ...options,
    engine,
    stats,
    // A server started without adapters can still be given some, but does not report any.
    lorasMax: options.loras.length === 0 ? 0 : options.lorasMax,
    wallSeconds: () => clock.wallTime() / 1000,
  });
  return {
    name,
    address: '',
    engine,
    stats,
    metricsPage,
    options,
    clock,
    random,
    loras: new Map(options.loras.map((lora) => [lora, lora])),
    readyAt: clock.now() + options.startupMs,
    transfers: new KvTransfers(clock, KV_LINK_DEFAULT),
  };
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
