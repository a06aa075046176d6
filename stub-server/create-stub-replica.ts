import type { Clock, Millis } from '../src/framework/runtime.ts';
import { Engine } from './engine/engine.ts';
import { latencyModel, type StepLoad, slowed } from './engine/latency-model.ts';
import { LORA_DEFAULTS } from './engine/lora-slots.ts';
import type { ModelEngine } from './engine/model-engine.ts';
import { TimedEngine } from './engine/timed-engine.ts';
import { NO_TIME } from './engine/timings.ts';
import { ActiveFaults } from './faults/active-faults.ts';
import { LiveSettings } from './http/replica/live-settings.ts';
import type { StubReplica } from './http/replica/stub-replica.ts';
import type { KvEvents } from './kv-events-of.ts';
import { createMetricsPage, DIALECTS } from './metrics/engine-page.ts';
import { EngineStats } from './metrics/engine-stats.ts';
import { fakeSource } from './metrics/fake-metrics.ts';
import { lorasInUse } from './metrics/loras-in-use.ts';
import type { MetricsSource } from './metrics/series-family.ts';
import type { EngineAddress } from './options/engine-addresses.ts';
import type { StubOptions } from './options/stub-options.ts';
import { KvExchange } from './pd/kv-exchange.ts';
import { KvFabric, KvPort } from './pd/kv-fabric.ts';
import { SharedStore } from './pd/shared-store.ts';

interface ReplicaParts
  extends Pick<StubReplica, 'options' | 'clock' | 'random' | 'ranks' | 'texts'> {
  readonly place: EngineAddress;
  readonly events: KvEvents | undefined;
  readonly kvNetwork: KvNetwork;
}

/** Creates an engine and everything around it except its sockets. */
export function createStubReplica(name: string, parts: ReplicaParts): StubReplica {
  const { options, place, clock, random, events, kvNetwork, ranks, texts } = parts;
  const { exchange } = kvNetwork;
  const { server, rank } = place;
  const port = new KvPort(options.kvLink);
  const stats = new PublishingStats(options.kvBlocks * options.blockTokens, events);
  const live = ranks[0]?.live ?? new LiveSettings(options);
  const engine = engineOf(parts, { live, stats });
  const { loras, startedAt, onCrash, onRestart } = processOf(parts, engine, port);
  const metrics = sourceOf(parts, { engine, stats, startedAt });
  const metricsPage = pageOf(options, live, {
    sources: () => (options.engines > 1 ? ranks.map((each) => each.metrics) : [metrics]),
    sinceStartMs: () => clock.wallTime() - startedAt(),
  });
  return {
    name,
    server,
    rank,
    ranks,
    balancer: undefined,
    address: '',
    engine,
    stats,
    metrics,
    faults: new ActiveFaults({
      engine,
      random: random.fork('faults'),
      metricsPage,
      onCrash,
      onRestart,
    }),
    options,
    clock,
    random,
    contextTokensMax: Math.min(engine.contextTokensMax, options.contextTokensMax ?? Infinity),
    live,
    texts,
    loras,
    readyAt: clock.now() + options.startupMs,
    exchange,
    port,
    store: options.sharedStorage ? kvNetwork.storeOf(options.model) : undefined,
  };
}

function sourceOf(
  { options, place, clock }: ReplicaParts,
  {
    engine,
    stats,
    startedAt,
  }: Pick<StubReplica, 'engine' | 'stats'> & Pick<EngineProcess, 'startedAt'>,
): MetricsSource {
  return {
    ...options,
    rank: place.rank,
    engine,
    stats,
    // A server started without adapters can load some later, but does not report any by default.
    lorasMax: options.loras.length === 0 && !options.loraEnabled ? 0 : options.lorasMax,
    lorasInUse: () => lorasInUse(engine, () => clock.wallTime() / 1000),
    startSeconds: () => startedAt() / 1000,
  };
}

interface EngineProcess {
  /** Adapters that clients can name, and their paths. */
  readonly loras: Map<string, string>;
  /** Wall time of its last start. */
  readonly startedAt: () => number;
  readonly onCrash: () => void;
  readonly onRestart: () => void;
}

/** What the end of an engine's process and its next start change around the engine. */
function processOf(
  { options, clock, events, kvNetwork }: ReplicaParts,
  engine: ModelEngine,
  port: KvPort,
): EngineProcess {
  const loras = new Map<string, string>();
  let startedAt = 0;
  const start = (): void => {
    startedAt = clock.wallTime();
    loras.clear();
    for (const lora of options.loras) {
      loras.set(lora, options.loraPaths[lora] ?? lora);
      engine.loras.load(lora);
    }
  };
  start();
  return {
    loras,
    startedAt: () => startedAt,
    onCrash: () => {
      kvNetwork.exchange.forget(port);
      // What the process has not sent yet is lost with it.
      events?.recorder.take();
      events?.publisher.crash();
    },
    onRestart: () => {
      start();
      void events?.publisher.restart();
    },
  };
}

/** An engine of steps, or one of fixed times where the options have any. */
function engineOf(
  { options, clock, random, events }: ReplicaParts,
  { live, stats }: { readonly live: LiveSettings; readonly stats: EngineStats },
): ModelEngine {
  const { lorasMax, hostLorasMax = lorasMax } = options;
  const shared = {
    ...options,
    clock,
    random: random.fork('steps'),
    observer: stats,
    blockSink: events?.recorder,
    loras: { ...LORA_DEFAULTS, slots: lorasMax, hostSlots: hostLorasMax },
  };
  if (options.timings !== undefined) {
    return new TimedEngine({ ...shared, timings: () => live.timings ?? NO_TIME });
  }
  return new Engine({
    ...shared,
    latency: slowed(latencyModel(options.latency), options.slowdown),
  });
}

interface PageParts {
  /** What the page shows: one for each engine at the address. Complete when the page is asked for. */
  readonly sources: () => readonly MetricsSource[];
  readonly sinceStartMs: () => Millis;
}

/** The page of /metrics, with the fake values of the moment where there are any. */
function pageOf(
  { engine }: StubOptions,
  live: LiveSettings,
  { sources, sinceStartMs }: PageParts,
): () => string {
  let shown = live.fakeMetrics;
  let page: (() => string) | undefined;
  const render = (): string => {
    const shows = sources().map((source) =>
      shown === undefined ? source : fakeSource(shown, source, sinceStartMs),
    );
    page = createMetricsPage(DIALECTS[engine], ...shows);
    return page();
  };
  return () => {
    if (shown !== live.fakeMetrics) page = undefined;
    shown = live.fakeMetrics;
    return page === undefined ? render() : page();
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
