import type { Clock } from '../src/framework/runtime.ts';
import { Engine } from './engine/engine.ts';
import { latencyModel, type StepLoad, slowed } from './engine/latency-model.ts';
import { LORA_DEFAULTS } from './engine/lora-slots.ts';
import { ActiveFaults } from './faults/active-faults.ts';
import type { Replica } from './http/replica.ts';
import { EventRecorder } from './kv-events/event-recorder.ts';
import { KvEventPublisher } from './kv-events/kv-event-publisher.ts';
import { EngineStats } from './metrics/engine-stats.ts';
import { createMetricsPage, DIALECTS } from './metrics/metrics-page.ts';
import type { EngineAddress } from './options/engine-addresses.ts';
import type { StubOptions } from './options/stub-options.ts';
import { KvExchange } from './pd/kv-exchange.ts';
import { KvFabric, KvPort } from './pd/kv-fabric.ts';
import { SharedStore } from './pd/shared-store.ts';

interface ReplicaParts extends Pick<Replica, 'options' | 'clock' | 'random' | 'ranks'> {
  readonly place: EngineAddress;
  readonly events: KvEvents | undefined;
  readonly kvNetwork: KvNetwork;
}

/** Creates an engine and everything around it except its sockets. */
export function createReplica(name: string, parts: ReplicaParts): Replica {
  const { options, place, clock, random, events, kvNetwork, ranks } = parts;
  const { exchange } = kvNetwork;
  const { server, rank } = place;
  const port = new KvPort(options.kvLink);
  let startedAt = clock.wallTime();
  const stats = new PublishingStats(options.kvBlocks * options.blockTokens, events);
  const engine = new Engine({
    ...options,
    clock,
    latency: slowed(latencyModel(options.latency), options.slowdown),
    random: random.fork('steps'),
    observer: stats,
    blockSink: events?.recorder,
    loras: { ...LORA_DEFAULTS, slots: options.lorasMax, hostSlots: options.lorasMax },
  });
  const metricsPage = createMetricsPage(DIALECTS[options.engine], {
    ...options,
    rank,
    engine,
    stats,
    // A server started without adapters can load some later, but does not report any.
    lorasMax: options.loras.length === 0 ? 0 : options.lorasMax,
    wallSeconds: () => clock.wallTime() / 1000,
    startSeconds: () => startedAt / 1000,
  });
  const onCrash = (): void => {
    exchange.forget(port);
    startedAt = clock.wallTime();
  };
  return {
    name,
    server,
    rank,
    ranks,
    address: '',
    engine,
    stats,
    faults: new ActiveFaults({ engine, random: random.fork('faults'), metricsPage, onCrash }),
    options,
    clock,
    random,
    loras: new Map(options.loras.map((lora) => [lora, lora])),
    readyAt: clock.now() + options.startupMs,
    exchange,
    port,
    store: options.sharedStorage ? kvNetwork.storeOf(options.model) : undefined,
  };
}

/** The means of KV transfer that the servers of a pool share. */
export class KvNetwork {
  readonly exchange: KvExchange;
  readonly #stores = new Map<string, SharedStore>();

  constructor(clock: Clock) {
    this.exchange = new KvExchange(clock, new KvFabric(clock));
  }

  storeOf(model: string): SharedStore {
    const store = this.#stores.get(model) ?? new SharedStore();
    this.#stores.set(model, store);
    return store;
  }
}

interface KvEvents {
  readonly recorder: EventRecorder;
  readonly publisher: KvEventPublisher;
}

/** Creates the publisher of an engine's KV events, not open yet; undefined if there is none. */
export function kvEventsOf(
  { kvEventsPort, kvEventsReplayPort, kvEventsFormat, model, blockTokens }: StubOptions,
  { host, port, portOffset, rank }: EngineAddress,
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

/** Publishes the events of the prefix cache, if there are any, after each step. */
class PublishingStats extends EngineStats {
  readonly #events: KvEvents | undefined;

  constructor(contextTokensMax: number, events: KvEvents | undefined) {
    super(contextTokensMax);
    this.#events = events;
  }

  override onStep(load: StepLoad, durationMs: number): void {
    super.onStep(load, durationMs);
    if (this.#events === undefined) return;
    this.#events.publisher.publish(this.#events.recorder.take());
  }
}
