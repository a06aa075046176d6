import type { DataSourceHost } from '../../framework/plugin.ts';
import { CacheView } from './cache-view.ts';
import { DroppedBatch, type DropReason } from './check-structure.ts';
import type { EventAddress } from './event-address.ts';
import { EventStream } from './event-stream.ts';
import { type KvEventClient, openKvEvents } from './kv-event-client.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';
import { RecentBlocks } from './recent-blocks.ts';
import type { ReplaySlots } from './replay.ts';
import type { BlockRoom } from './resident-blocks.ts';
import { StreamStats } from './stream-stats.ts';
import type { TokenChain } from './token-chain.ts';

export interface EventsShared {
  readonly config: PrecisePrefixConfig;
  readonly host: DataSourceHost;
  readonly chain: TokenChain;
  readonly adapters: Set<string>;
  readonly room: BlockRoom;
  readonly replaySlots: ReplaySlots;
}

interface EndpointEventsObserver {
  /** The engine has restarted or dropped all blocks. */
  onCacheEmptied(): void;
  /** A message is dropped; `first`: the first one for this reason. */
  onDropped(error: DroppedBatch, first: boolean): void;
  onSocketFailed(address: string, reason: string): void;
}

/** The KV events of one endpoint, from its sockets to what is known of its cache. */
export class EndpointEvents {
  readonly stats: StreamStats = new StreamStats();
  readonly view: CacheView;
  /** The prompts sent there lately, whose events may not have arrived yet. */
  readonly recent: RecentBlocks;
  readonly #stream: EventStream;
  readonly #client: KvEventClient | undefined;
  readonly #observer: EndpointEventsObserver;
  readonly #dropReasons = new Set<DropReason>();
  /** The model that the topic of its events names; undefined where it names none. */
  model: string | undefined;
  #restarts = 0;

  /** Without `address`, batches come only through `receive`. */
  constructor(
    shared: EventsShared,
    address: EventAddress | undefined,
    observer: EndpointEventsObserver,
  ) {
    const { config, host, chain, adapters, room, replaySlots } = shared;
    const { clock, network } = host.runtime;
    this.#observer = observer;
    this.recent = new RecentBlocks(config.speculativeMs);
    this.view = new CacheView({
      chain,
      stats: this.stats,
      adapters,
      room,
      batchElementsMax: config.batchElementsMax,
      tierWeights: config.tierWeights,
      onCleared: () => this.#cacheEmptied(),
    });
    this.#stream = new EventStream({
      clock,
      stats: this.stats,
      replaySlots,
      requestReplay:
        address?.replay === undefined ? undefined : (from) => this.#client?.requestReplay(from),
      sink: {
        apply: (payload) => this.#apply(payload),
        reset: (complete) => this.#reset(complete),
      },
    });
    this.#client =
      address &&
      openKvEvents({
        network,
        address: address.events,
        replayAddress: address.replay,
        curve: config.curve,
        topic: config.topicFilter ?? '',
        onConnected: () => this.#stream.connected(),
        onEvents: (topic, sequence, payload) => this.receive(topic, sequence, payload),
        onReplayed: (sequence, payload) => this.#stream.replayed(sequence, payload),
        onReplayEnd: () => this.#stream.replayEnded(),
        onFailed: (from, reason) => observer.onSocketFailed(from, reason),
      });
  }

  receive(topic: string, sequence: number, payload: Uint8Array): void {
    if (topic.length <= TOPIC_CHARS_MAX) this.model = modelIn(topic) ?? this.model;
    this.#stream.message(sequence, payload);
  }

  close(): void {
    this.#client?.close();
    this.#stream.close();
    this.view.reset('unknown');
  }

  #apply(payload: Uint8Array): boolean {
    try {
      this.view.apply(payload);
      return true;
    } catch (error) {
      if (!(error instanceof DroppedBatch)) throw error;
      const first = !this.#dropReasons.has(error.reason);
      this.#dropReasons.add(error.reason);
      this.#observer.onDropped(error, first);
      // The stream counts it, and discards what is known.
      return false;
    }
  }

  #reset(complete: boolean): void {
    this.view.reset(complete ? 'complete' : 'partial');
    if (this.stats.restarts === this.#restarts) return;
    this.#restarts = this.stats.restarts;
    this.#cacheEmptied();
  }

  #cacheEmptied(): void {
    this.recent.clear();
    this.#observer.onCacheEmptied();
  }
}

/** A longer topic names no model: an engine could keep megabytes in it. */
const TOPIC_CHARS_MAX = 1024;

/** Reads `kv@<pod>@<model>`; any other topic names no model. */
function modelIn(topic: string): string | undefined {
  const [, , model] = topic.split('@');
  return topic.startsWith('kv@') && model !== undefined && model !== '' ? model : undefined;
}
