import type { Clock, Random } from '../src/framework/runtime.ts';
import { Engine } from './engine/engine.ts';
import type { EngineObserver } from './engine/engine-observer.ts';
import { latencyModel, slowed } from './engine/latency-model.ts';
import { LORA_DEFAULTS } from './engine/lora-slots.ts';
import { FaultBoard } from './faults/fault-board.ts';
import type { Replica } from './http/replica.ts';
import { EventRecorder } from './kv-events/event-recorder.ts';
import { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import { EngineStats } from './metrics/engine-stats.ts';
import { createMetricsPage, DIALECTS } from './metrics/metrics-page.ts';
import type { Place } from './options/places.ts';
import type { StubOptions } from './options/stub-options.ts';
import { KvExchange } from './pd/kv-exchange.ts';
import { KvFabric, KvPort } from './pd/kv-fabric.ts';
import { SharedStore } from './pd/shared-store.ts';

export interface ReplicaParts {
  readonly options: StubOptions;
  readonly place: Place;
  readonly clock: Clock;
  readonly random: Random;
  readonly events: KvEvents | undefined;
  readonly kvNetwork: KvNetwork;
  /** Of its server, by rank; it is not among them yet. */
  readonly ranks: readonly Replica[];
}

/** An engine and all around it but its sockets. */
export function createReplica(name: string, parts: ReplicaParts): Replica {
  const { options, place, clock, random, events, kvNetwork, ranks } = parts;
  const { fabric, exchange, storeOf } = kvNetwork;
  const port = new KvPort(options.kvLink);
  let startedAt = clock.wallTime();
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
    rank: place.rank,
    engine,
    stats,
    // A server started without adapters can still be given some, but does not report any.
    lorasMax: options.loras.length === 0 ? 0 : options.lorasMax,
    wallSeconds: () => clock.wallTime() / 1000,
    startSeconds: () => startedAt / 1000,
  });
  return {
    name,
    server: place.server,
    rank: place.rank,
    ranks,
    address: '',
    engine,
    stats,
    faults: new FaultBoard({
      engine,
      random: random.fork('faults'),
      metricsPage,
      onCrash: () => {
        exchange.forget(port);
        startedAt = clock.wallTime();
      },
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
export interface KvNetwork {
  readonly fabric: KvFabric;
  readonly exchange: KvExchange;
  readonly storeOf: (model: string) => SharedStore;
}

export function createKvNetwork(clock: Clock): KvNetwork {
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

export interface KvEvents {
  readonly recorder: EventRecorder;
  readonly publisher: KvEventPublisher;
}

/** What publishes an engine's KV events, not open yet; undefined where they are not published. */
export function kvEventsOf(
  { kvEventsPort, kvEventsReplayPort, kvEventsFormat, model, blockTokens }: StubOptions,
  { host, port, portOffset, rank }: Place,
  clock: Clock,
): KvEvents | undefined {
  if (kvEventsPort === undefined) return undefined;
  const bound = (first: number): string =>
    `tcp://${host}:${first === 0 ? '*' : first + portOffset}`;
  const publisher = new KvEventPublisher({
    endpoint: bound(kvEventsPort),
    bind: true,
    replayEndpoint: kvEventsReplayPort === undefined ? undefined : bound(kvEventsReplayPort),
    topic: `kv@${host}:${port === 0 ? portOffset : port}@${model}`,
    format: kvEventsFormat,
    dataParallelRank: rank,
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
