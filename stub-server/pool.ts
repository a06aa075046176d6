import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ListenError } from '../src/runtime/listen-error.ts';
import { preciseClock } from '../src/runtime/precise-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { createControlServer } from './control-server.ts';
import { createKvNetwork, createReplica, kvEventsOf } from './create-replica.ts';
import type { Engine } from './engine/engine.ts';
import { scheduleFaults } from './faults/schedule-faults.ts';
import type { Replica } from './http/replica.ts';
import { createStubServer } from './http/server.ts';
import type { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import { placesOf } from './options/places.ts';
import type { StubOptions } from './options/stub-options.ts';
import { scaledClock } from './scaled-clock.ts';

export interface StubEndpoint {
  /** `host:port`. */
  readonly address: string;
  /** Its data-parallel rank in its server. */
  readonly rank: number;
  readonly engine: Engine;
}

export interface StubPool {
  readonly endpoints: readonly StubEndpoint[];
  /** `host:port` of the control server, if there is one. */
  readonly control: string | undefined;
  /** Where each endpoint's KV events are published, in the same order; empty when they are not. */
  readonly kvEvents: readonly {
    readonly endpoint: string;
    readonly replayEndpoint: string | undefined;
  }[];
  stop(): Promise<void>;
}

/** Starts a pool of model servers alike in this process, one port each and rank. */
export function startStubPool(options: StubOptions): Promise<StubPool> {
  return startMixedPool(Array.from({ length: options.count }, () => options));
}

/**
 * Starts a pool of unlike model servers, one set of options each. Host, ports, speed, seed and faults are the first's.
 * `controlPort` serves the pool's state and faults; 0 takes a free one.
 */
export async function startMixedPool(
  each: readonly StubOptions[],
  { controlPort }: { readonly controlPort?: number | undefined } = {},
): Promise<StubPool> {
  const [common] = each;
  if (common === undefined) throw new Error('a pool of no servers');
  const clock = scaledClock(preciseClock(), common.speed);
  const random = seededRandom(common.seed);
  const servers: Server[] = [];
  const publishers: KvEventPublisher[] = [];
  const replicas: Replica[] = [];
  const addresses = new Map<string, Replica>();
  const kvNetwork = createKvNetwork(clock);
  const ranks: Replica[][] = each.map(() => []);
  for (const place of placesOf(each)) {
    const { server: index, rank, host, port } = place;
    const options = each[index] ?? common;
    const siblings = ranks[index] ?? [];
    const name = `stub-${index}`;
    const events = kvEventsOf(options, place, clock);
    const replica = createReplica(name, {
      options,
      place,
      clock,
      random: random.fork(rank === 0 ? name : `${name} rank ${rank}`),
      events,
      kvNetwork,
      ranks: siblings,
    });
    siblings.push(replica);
    replicas.push(replica);
    await events?.publisher.open();
    const server = createStubServer(replica, (address) => addresses.get(address));
    await listen(server, host, port);
    servers.push(server);
    if (events !== undefined) publishers.push(events.publisher);
    replica.address = addressOf(server, host);
    addresses.set(replica.address, replica);
  }
  const control = controlPort === undefined ? undefined : createControlServer(replicas);
  if (control !== undefined) {
    await listen(control, common.host, controlPort ?? 0);
    servers.push(control);
  }
  const boards = ranks.map((siblings) => siblings.map(({ faults }) => faults));
  const schedule = scheduleFaults(common.faults, boards, clock);
  return {
    endpoints: replicas.map(({ address, rank, engine }) => ({ address, rank, engine })),
    control: control && addressOf(control, common.host),
    kvEvents: publishers.map(({ endpoint, replayEndpoint }) => ({ endpoint, replayEndpoint })),
    stop: async () => {
      schedule.stop();
      await Promise.all(servers.map(close));
      await Promise.all(publishers.map((publisher) => publisher.close()));
    },
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
