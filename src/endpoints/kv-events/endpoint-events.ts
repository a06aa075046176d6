import type { DataSourceHost } from '../../framework/plugin.ts';
import { CacheView } from './cache-view.ts';
import { EventStream, type ReplaySlots } from './event-stream.ts';
import { type KvEventClient, openKvEvents } from './kv-event-client.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';
import { RecentBlocks } from './recent-blocks.ts';
import type { BlockRoom } from './resident-blocks.ts';
import { type StreamStats, streamStats } from './stream-stats.ts';
import type { TokenChain } from './token-chain.ts';

/** Where one endpoint publishes. */
export interface EventAddress {
  readonly events: string;
  readonly replay: string | undefined;
}

/** What all endpoints of a pool have in common. */
export interface EventsShared {
  readonly config: PrecisePrefixConfig;
  readonly host: DataSourceHost;
  readonly chain: TokenChain;
  readonly adapters: Set<string>;
  readonly room: BlockRoom;
  readonly replaySlots: ReplaySlots;
}

/** One endpoint's events, from its sockets to what is known of its cache. */
export class EndpointEvents {
  readonly stats: StreamStats = streamStats();
  readonly view: CacheView;
  /** What was sent there lately, which no event tells of yet. */
  readonly recent: RecentBlocks;
  readonly #stream: EventStream;
  readonly #client: KvEventClient | undefined;
  readonly #onEmptied: () => void;
  #model: string | undefined;
  #restarts = 0;

  /** Without an address others hand it what they hear. `onEmptied`: the engine began anew, or cleared its cache. */
  constructor(shared: EventsShared, address: EventAddress | undefined, onEmptied: () => void) {
    const { config, host, chain, adapters, room, replaySlots } = shared;
    const { clock, network } = host.runtime;
    this.#onEmptied = onEmptied;
    this.recent = new RecentBlocks(config.speculativeMs);
    this.view = new CacheView({
      chain,
      stats: this.stats,
      adapters,
      room,
      tierWeights: config.tierWeights,
      onCleared: () => this.#emptied(),
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
        topic: config.topicFilter ?? '',
        onConnected: () => this.#stream.connected(),
        onEvents: (topic, sequence, payload) => this.receive(topic, sequence, payload),
        onReplayed: (sequence, payload) => this.#stream.replayed(sequence, payload),
        onReplayEnd: () => this.#stream.replayEnded(),
      });
  }

  /** The model its topic names; undefined where it names none. */
  get model(): string | undefined {
    return this.#model;
  }

  /** Bytes of the index and of what is held back. */
  get bytes(): number {
    return this.view.blocks.bytes + this.#stream.heldBytes;
  }

  receive(topic: string, sequence: number, payload: Uint8Array): void {
    this.#model = modelIn(topic) ?? this.#model;
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
    } catch {
      // Bytes from a network: the stream counts it, and gives up what it knew.
      return false;
    }
  }

  #reset(complete: boolean): void {
    this.view.reset(complete ? 'complete' : 'partial');
    if (this.stats.restarts === this.#restarts) return;
    this.#restarts = this.stats.restarts;
    this.#emptied();
  }

  #emptied(): void {
    this.recent.clear();
    this.#onEmptied();
  }
}

/** `kv@<pod>@<model>`; any other topic names no model. */
export function modelIn(topic: string): string | undefined {
  const [, , model] = topic.split('@');
  return topic.startsWith('kv@') && model !== undefined && model !== '' ? model : undefined;
}
