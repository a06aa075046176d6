import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock, Random } from '../src/framework/runtime.ts';
import { preciseClock } from '../src/runtime/precise-clock.ts';
import { seededRandom } from '../src/runtime/seeded-random.ts';
import { createControlServer } from './control-server.ts';
import { Engine } from './engine.ts';
import type { EngineObserver } from './engine-observer.ts';
import { FaultBoard } from './faults/fault-board.ts';
import { scheduleFaults } from './faults/schedule-faults.ts';
import type { Replica } from './http/replica.ts';
import { createStubServer } from './http/server.ts';
import { EventRecorder } from './kv-events/event-recorder.ts';
import { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import { latencyModel, slowed } from './latency-model.ts';
import { LORA_DEFAULTS } from './lora-slots.ts';
import { EngineStats } from './metrics/engine-stats.ts';
import { createMetricsPage, DIALECTS } from './metrics/metrics-page.ts';
import { KvExchange } from './pd/kv-exchange.ts';
import { KvFabric, KvPort } from './pd/kv-fabric.ts';
import { SharedStore } from './pd/shared-store.ts';
import { scaledClock } from './scaled-clock.ts';
import type { StubOptions } from './stub-options.ts';

export interface StubEndpoint {
  /** `host:port`. */
  readonly address: string;
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

/** Starts a pool of model servers alike in this process, one port each. */
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
  for (const [index, options] of each.entries()) {
    const name = `stub-${index}`;
    const events = kvEventsOf(options, { clock, index });
    const parts = { options, clock, random: random.fork(name), events, kvNetwork };
    const replica = createReplica(name, parts);
    await events?.publisher.open();
    replicas.push(replica);
    const server = createStubServer(replica, (address) => addresses.get(address));
    await listen(server, common.host, common.port === 0 ? 0 : common.port + index);
    servers.push(server);
    if (events !== undefined) publishers.push(events.publisher);
    replica.address = addressOf(server, common.host);
    addresses.set(replica.address, replica);
  }
  const control = controlPort === undefined ? undefined : createControlServer(replicas);
  if (control !== undefined) {
    await listen(control, common.host, controlPort ?? 0);
    servers.push(control);
  }
  const boards = replicas.map(({ faults }) => faults);
  const schedule = scheduleFaults(common.faults, boards, clock);
  return {
    endpoints: replicas.map(({ address, engine }) => ({ address, engine })),
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

function createReplica(
  name: string,
  parts: {
    readonly options: StubOptions;
    readonly clock: Clock;
    readonly random: Random;
    readonly events: KvEvents | undefined;
    readonly kvNetwork: KvNetwork;
  },
): Replica {
  const { options, clock, random, events, kvNetwork } = parts;
  const { fabric, exchange, storeOf } = kvNetwork;
  const port = new KvPort(options.kvLink);
  const stats = new EngineStats(options.kvBlocks * options.blockTokens);
  const engine = new Engine({
    ...options,
    clock,
    latency: slowed(latencyModel(options.latency), options.slowdown),
    random: random.fork('steps'),
    observer: events === undefined ? stats : publishing(stats, events),
    blockSink: events?.recorder,
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
    faults: new FaultBoard({
      engine,
      random: random.fork('faults'),
      metricsPage,
      onCrash: () => exchange.forget(port),
    }),
    options,
    clock,
    random,
    loras: new Map(options.loras.map((lora) => [lora, lora])),
    readyAt: clock.now() + options.startupMs,
    exchange,
    fabric,
    port,
    store: options.sharedStorage ? storeOf(options.model) : undefined,
  };
}

/** What the servers of a pool share. */
interface KvNetwork {
  readonly fabric: KvFabric;
  readonly exchange: KvExchange;
  readonly storeOf: (model: string) => SharedStore;
}

function createKvNetwork(clock: Clock): KvNetwork {
  const fabric = new KvFabric(clock);
  const stores = new Map<string, SharedStore>();
  return {
    fabric,
    exchange: new KvExchange(clock, fabric),
    storeOf: (model) => {
      const store = stores.get(model) ?? new SharedStore();
      stores.set(model, store);
      return store;
    },
  };
}

interface KvEvents {
  readonly recorder: EventRecorder;
  readonly publisher: KvEventPublisher;
}

function kvEventsOf(
  { kvEventsPort, kvEventsReplayPort, kvEventsFormat, host, port, model, blockTokens }: StubOptions,
  { clock, index }: { readonly clock: Clock; readonly index: number },
): KvEvents | undefined {
  if (kvEventsPort === undefined) return undefined;
  const bound = (first: number): string => `tcp://${host}:${first === 0 ? '*' : first + index}`;
  const publisher = new KvEventPublisher({
    endpoint: bound(kvEventsPort),
    bind: true,
    replayEndpoint: kvEventsReplayPort === undefined ? undefined : bound(kvEventsReplayPort),
    topic: `kv@${host}:${port === 0 ? index : port + index}@${model}`,
    format: kvEventsFormat,
    dataParallelRank: 0,
    wallSeconds: () => clock.wallTime() / 1000,
  });
  const recorder = new EventRecorder(blockTokens, (events) => publisher.publish(events));
  return { recorder, publisher };
}

/** Publishes with each step what its cache has done, and counts as `stats` does. */
function publishing(stats: EngineStats, { recorder, publisher }: KvEvents): EngineObserver {
  return {
    onArrived: () => stats.onArrived(),
    onScheduled: (sequence, at) => stats.onScheduled(sequence, at),
    onPreempted: () => stats.onPreempted(),
    onPrefilled: (sequence, at) => stats.onPrefilled(sequence, at),
    onFinished: (sequence, reason, at) => stats.onFinished(sequence, reason, at),
    onStep: (load, durationMs) => {
      stats.onStep(load, durationMs);
      publisher.publish(recorder.take());
    },
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
