import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../src/framework/runtime.ts';
import { ListenError } from '../src/runtime/listen-error.ts';
import { preciseClock } from '../src/runtime/precise-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { createControlServer } from './control-server.ts';
import { createKvNetwork, createReplica, kvEventsOf } from './create-replica.ts';
import type { Engine } from './engine/engine.ts';
import { scheduleFaults } from './faults/active-faults.ts';
import type { Replica } from './http/replica.ts';
import { createStubServer } from './http/server.ts';
import type { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import { engineAddresses } from './options/engine-addresses.ts';
import type { StubOptions } from './options/stub-options.ts';

interface StubEndpoint {
  /** `host:port`. */
  readonly address: string;
  /** Data-parallel rank in its server. */
  readonly rank: number;
  readonly engine: Engine;
}

export interface StubPool {
  readonly endpoints: readonly StubEndpoint[];
  /** `host:port` of the control server, if there is one. */
  readonly control: string | undefined;
  /** ZMQ addresses of each endpoint's KV events, in the same order; empty without KV events. */
  readonly kvEvents: readonly Pick<KvEventPublisher, 'endpoint' | 'replayEndpoint'>[];
  stop(): Promise<void>;
}

/** Starts a pool of equal model servers in this process, with one port per server and rank. */
export function startStubPool(options: StubOptions): Promise<StubPool> {
  return startMixedPool(Array.from({ length: options.count }, () => options));
}

/**
 * Starts a pool of model servers, each with its own options. Host, ports, speed, seed and faults
 * are those of the first. `controlPort` serves the pool's state and faults; 0 takes a free port.
 */
export async function startMixedPool(
  servers: readonly StubOptions[],
  { controlPort }: { readonly controlPort?: number | undefined } = {},
): Promise<StubPool> {
  const [common] = servers;
  if (common === undefined) throw new Error('a pool needs at least one server');
  const clock = scaledClock(preciseClock(), common.speed);
  const random = seededRandom(common.seed);
  const listening: Server[] = [];
  const publishers: KvEventPublisher[] = [];
  const replicas: Replica[] = [];
  const byAddress = new Map<string, Replica>();
  const kvNetwork = createKvNetwork(clock);
  const ranks: Replica[][] = servers.map(() => []);
  for (const place of engineAddresses(servers)) {
    const { server: index, rank, host, port } = place;
    const options = servers[index] ?? common;
    const siblings = ranks[index] ?? [];
    const name = `stub-${index}`;
    const events = kvEventsOf(options, place, clock);
    const fork = random.fork(rank === 0 ? name : `${name} rank ${rank}`);
    const parts = { options, place, clock, events, kvNetwork, ranks: siblings };
    const replica = createReplica(name, { ...parts, random: fork });
    siblings.push(replica);
    replicas.push(replica);
    await events?.publisher.open();
    const server = createStubServer(replica, (address) => byAddress.get(address));
    await listen(server, host, port);
    listening.push(server);
    if (events !== undefined) publishers.push(events.publisher);
    replica.address = addressOf(server, host);
    byAddress.set(replica.address, replica);
  }
  const control = controlPort === undefined ? undefined : createControlServer(replicas);
  if (control !== undefined) {
    await listen(control, common.host, controlPort ?? 0);
    listening.push(control);
  }
  const faults = ranks.map((siblings) => siblings.map((replica) => replica.faults));
  const schedule = scheduleFaults(common.faults, faults, clock);
  return {
    endpoints: replicas.map(({ address, rank, engine }) => ({ address, rank, engine })),
    control: control && addressOf(control, common.host),
    kvEvents: publishers.map(({ endpoint, replayEndpoint }) => ({ endpoint, replayEndpoint })),
    stop: async () => {
      schedule.stop();
      await Promise.all(listening.map(close));
      await Promise.all(publishers.map((publisher) => publisher.close()));
    },
  };
}

/** Model time that runs `ratio` times as fast as `clock`. */
function scaledClock(clock: Clock, ratio: number): Clock {
  if (ratio === 1) return clock;
  const startedAt = clock.now();
  const wallStartedAt = clock.wallTime();
  return {
    now: () => (clock.now() - startedAt) * ratio,
    wallTime: () => wallStartedAt + (clock.now() - startedAt) * ratio,
    setTimer: (delay, callback) => clock.setTimer(delay / ratio, callback),
  };
}

function addressOf(server: Server, host: string): string {
  return `${host}:${(server.address() as AddressInfo).port}`;
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(new ListenError(`${host}:${port}`, error)));
    server.listen(port, host, resolve);
  });
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
