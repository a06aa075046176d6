import type { Endpoint } from '../../framework/endpoint.ts';
import type { DataSourceHost, EndpointWriter } from '../../framework/plugin.ts';
import type { MessageSocket } from '../../framework/runtime.ts';
import { PrefixIndex } from '../../picker/prefix-index/prefix-index.ts';
import { TokenChain } from './blocks/token-chain.ts';
import { EndpointEvents, type EventsShared } from './endpoint-events.ts';
import { eventAddress } from './event-address.ts';
import { EventCounts } from './health/event-counts.ts';
import { type EventTroubles, eventTroublesOf } from './health/event-troubles.ts';
import { PodNames, podIn } from './pod-names.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';
import { readKvEvents } from './stream/kv-event-client.ts';
import { REPLAYS_AT_ONCE, ReplaySlots } from './stream/replay.ts';

/** The prefix of topics where many publishers connect to one socket; the reference's. */
const TOPIC_FILTER = 'kv@';

/** The KV events of a pool: from a connection to each endpoint, from one bound socket, or both. */
export class EventSubscriptions {
  readonly chain: TokenChain;
  readonly adapters: Set<string> = new Set();
  readonly total: EventCounts = new EventCounts();
  /** The address where publishers connect; undefined where the picker connects to them. */
  readonly bindAddress: string | undefined;
  bindFailures = 0;
  readonly #shared: EventsShared;
  readonly #onCacheEmptied: (endpoint: Endpoint) => void;
  readonly #pool: EndpointWriter;
  readonly #bySlot: (EndpointEvents | undefined)[] = [];
  readonly #byPod = new PodNames<EndpointEvents>((pod) => this.#troubles.onUnknownPod(pod));
  readonly #bound: MessageSocket | undefined;

  constructor(
    config: PrecisePrefixConfig,
    host: DataSourceHost,
    onCacheEmptied: (endpoint: Endpoint) => void,
  ) {
    const { secret = 0 } = host.runtime;
    this.#onCacheEmptied = onCacheEmptied;
    this.chain = new TokenChain(secret);
    this.#pool = host.pool;
    this.#shared = {
      config,
      host,
      chain: this.chain,
      adapters: this.adapters,
      room: { left: config.blocksMax },
      replaySlots: new ReplaySlots(REPLAYS_AT_ONCE),
      total: this.total,
      recent: new PrefixIndex(),
    };
    this.bindAddress = config.bindAddress;
    this.#bound = config.bindAddress === undefined ? undefined : this.#bind(config.bindAddress);
  }

  #bind(address: string): MessageSocket | undefined {
    const { config, host } = this.#shared;
    return host.runtime.network.openMessages?.({
      kind: 'subscriber',
      address,
      bind: true,
      curve: config.curve,
      topic: config.topicFilter ?? TOPIC_FILTER,
      onFailed: (reason) => {
        this.bindFailures += 1;
        this.#troubles.onSocketFailed(address, reason);
      },
      onMessage: (frames) =>
        readKvEvents(frames, (topic, sequence, payload) =>
          this.#byPod.find(podIn(topic))?.receive(topic, sequence, payload),
        ),
    });
  }

  /** Looked up each time, because the observer may be attached later than this object is made. */
  get #troubles(): EventTroubles {
    return eventTroublesOf(this.#pool);
  }

  of({ slot }: Endpoint): EndpointEvents | undefined {
    return this.#bySlot[slot];
  }

  /** The engines' block sizes, as far as events have shown them. */
  blockSizes(): ReadonlySet<number> {
    const sizes = new Set<number>();
    for (const events of this.#bySlot) {
      if (events?.view.blockTokens !== undefined) sizes.add(events.view.blockTokens);
    }
    return sizes;
  }

  /** Adds an endpoint, or one again whose address has changed: what was known of it is dropped. */
  add(endpoint: Endpoint): void {
    this.remove(endpoint);
    const { config } = this.#shared;
    const address = config.discoverPods ? eventAddress(endpoint, config) : undefined;
    const events = new EndpointEvents(this.#shared, address, {
      onCacheEmptied: () => this.#onCacheEmptied(endpoint),
      onDropped: (error, first) => this.#troubles.onDropped(endpoint, error, first),
      onUnusable: (reason) => this.#troubles.onUnusable(endpoint, reason),
      onSocketFailed: (from, reason) => this.#troubles.onSocketFailed(from, reason),
    });
    this.#bySlot[endpoint.slot] = events;
    this.#byPod.add(endpoint, events);
  }

  remove({ slot }: Endpoint): void {
    const events = this.#bySlot[slot];
    if (events === undefined) return;
    events.close();
    this.#bySlot[slot] = undefined;
    this.#byPod.remove(events);
  }

  close(): void {
    this.#bound?.close();
    for (const events of this.#bySlot) events?.close();
    this.#bySlot.length = 0;
    this.#byPod.clear();
  }
}
