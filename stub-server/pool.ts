import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { nodeClock } from '../src/runtime/node-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { Engine } from './engine.ts';
import { EngineStats } from './engine-stats.ts';
import { createStubServer } from './http-server.ts';
import { linearLatency } from './latency-model.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';
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
  const endpoints: StubEndpoint[] = [];
  for (let index = 0; index < options.count; index++) {
    const stats = new EngineStats();
    const latency = linearLatency({ kind: 'linear', ...options });
    const engine = new Engine({
      ...options,
      clock,
      latency,
      observer: stats,
      loras: { ...LORA_DEFAULTS, slots: options.lorasMax, hostSlots: options.lorasMax },
    });
    const name = `stub-${index}`;
    const server = createStubServer({
      engine,
      stats,
      clock,
      random: random.fork(name),
      options,
      name,
    });
    const port = options.port === 0 ? 0 : options.port + index;
    await listen(server, options.host, port);
    servers.push(server);
    const bound = (server.address() as AddressInfo).port;
    endpoints.push({ address: `${options.host}:${bound}`, engine });
  }
  return { endpoints, stop: async () => void (await Promise.all(servers.map(close))) };
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
