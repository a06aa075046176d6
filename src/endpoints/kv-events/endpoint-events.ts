import type { DataSourceHost } from '../../framework/plugin.ts';
import type { PrefixIndex } from '../../picker/prefix-index/prefix-index.ts';
import { CacheView } from './blocks/cache-view.ts';
import { RecentBlocks } from './blocks/recent-blocks.ts';
import type { BlockRoom } from './blocks/resident-blocks.ts';
import type { TokenChain } from './blocks/token-chain.ts';
import type { EventAddress } from './event-address.ts';
import type { EventCounts } from './health/event-counts.ts';
import type { UnusableReason } from './health/event-health.ts';
import { StreamStats } from './health/stream-stats.ts';
import { DroppedBatch, type DropReason } from './messages/check-structure.ts';
import type { PrecisePrefixConfig } from './precise-config.ts';
import { SlicedWork } from './sliced-work.ts';
import { EventStream } from './stream/event-stream.ts';
import { type KvEventClient, openKvEvents } from './stream/kv-event-client.ts';
import type { ReplaySlots } from './stream/replay.ts';

export interface EventsShared {
  readonly config: PrecisePrefixConfig;
  readonly host: DataSourceHost;
  readonly chain: TokenChain;
  readonly adapters: Set<string>;
  readonly room: BlockRoom;
  readonly replaySlots: ReplaySlots;
  readonly total: EventCounts;
  /** The prompts that were sent to all endpoints lately. */
  readonly recent: PrefixIndex;
}

interface EndpointEventsObserver {
  /** The engine has restarted or dropped all blocks. */
  onCacheEmptied(): void;
  /** A message is dropped; `first`: the first one for this reason. */
  onDropped(error: DroppedBatch, first: boolean): void;
  /** Its events cannot be used: the first time for this reason. */
  onUnusable(reason: UnusableReason): void;
  onSocketFailed(address: string, reason: string): void;
}

/** A socket's failures, by the reference's names of what failed. */
type SocketOperation = 'connect' | 'replay-connect';

/** The KV events of one endpoint, from its sockets to what is known of its cache. */
export class EndpointEvents {
  readonly stats: StreamStats;
  readonly socketFailures: Record<SocketOperation, number> = { connect: 0, 'replay-connect': 0 };
  /** Where its events come from; undefined where the publisher connects to the picker. */
  readonly address: EventAddress | undefined;
  readonly view: CacheView;
  /** The prompts sent there lately, whose events may not have arrived yet. */
  readonly recent: RecentBlocks;
  readonly #stream: EventStream;
  /** A large batch is applied in slices; what comes meanwhile waits. */
  readonly #work: SlicedWork;
  readonly #client: KvEventClient | undefined;
  readonly #observer: EndpointEventsObserver;
  readonly #dropReasons = new Set<DropReason>();
  readonly #problems = new Set<UnusableReason>();
  #connections = 0;
  /** Replays that were requested. */
  #requests = 0;
  /** The model that the topic of its events names; undefined where it names none. */
  model: string | undefined;
  #restarts = 0;

  /** Without `address`, batches come only through `receive`. */
  constructor(
    shared: EventsShared,
    address: EventAddress | undefined,
    observer: EndpointEventsObserver,
  ) {
    const { config, host, chain, adapters, room, replaySlots, total } = shared;
    const { clock } = host.runtime;
    this.#observer = observer;
    this.address = address;
    this.stats = new StreamStats(total);
    this.#work = new SlicedWork(clock, (error) => {
      this.#dropped(error);
      this.#stream.batchFailed();
    });
    this.recent = new RecentBlocks(shared.recent, config.speculativeMs);
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
      // What has come and waits for its turn is not late.
      clock: this.#work.inTurn(),
      stats: this.stats,
      replaySlots,
      requestReplay: address?.replay === undefined ? undefined : (from) => this.#request(from),
      sink: {
        apply: (payload) => this.#apply(payload),
        reset: (knowledge) => this.#reset(knowledge),
      },
    });
    this.#client = address && this.#connect(shared, address);
  }

  #connect({ config, host }: EventsShared, address: EventAddress): KvEventClient {
    return openKvEvents({
      network: host.runtime.network,
      address: address.events,
      replayAddress: address.replay,
      curve: config.curve,
      topic: config.topicFilter ?? '',
      onConnected: () => {
        this.#connections += 1;
        this.stats.reconnections = this.#connections - 1;
        this.#work.enter(() => this.#stream.connected());
      },
      onEvents: (topic, sequence, payload) => this.receive(topic, sequence, payload),
      onReplayed: (sequence, payload) =>
        this.#answer(() => this.#stream.replayed(sequence, payload), payload.length),
      onReplayEnd: () => this.#answer(() => this.#stream.replayEnded()),
      onFailed: (from, reason) => {
        this.socketFailures[from === address.replay ? 'replay-connect' : 'connect'] += 1;
        this.#observer.onSocketFailed(from, reason);
      },
    });
  }

  #request(from: number): void {
    this.#requests += 1;
    this.#client?.requestReplay(from);
  }

  /** What comes of an answer has its turn, unless the publisher has been asked again by then. */
  #answer(take: () => void, bytes = 0): void {
    const request = this.#requests;
    this.#work.enter(() => {
      if (request === this.#requests) take();
    }, bytes);
  }

  /** Takes a message of the publisher, whose payload is a batch. */
  receive(topic: string, sequence: number, payload: Uint8Array): void {
    if (topic.length <= TOPIC_CHARS_MAX) this.model = modelIn(topic) ?? this.model;
    this.stats.messages += 1;
    this.#work.enter(() => this.#stream.message(sequence, payload), payload.length);
  }

  /** A request whose prompt fills at least a block has ended here. */
  requestEnded(): void {
    if (this.stats.messages > 0 || this.stats.batches > 0) return;
    this.stats.health.silentRequest();
    this.#reportProblem();
  }

  /** Messages that wait for a replay, or for a large batch before them. */
  get held(): number {
    return this.#stream.held + this.#work.waiting;
  }

  close(): void {
    this.#client?.close();
    this.#work.close();
    this.#stream.close();
    this.stats.leave();
    this.view.reset('unknown');
    this.recent.stop();
  }

  #apply(payload: Uint8Array): boolean {
    try {
      this.#work.start(this.#applied(payload));
      return true;
    } catch (error) {
      this.#dropped(error);
      // The stream counts it, and discards what is known.
      return false;
    }
  }

  *#applied(payload: Uint8Array): Generator<void, void> {
    yield* this.view.slices(payload);
    this.#reportProblem();
  }

  #dropped(error: unknown): void {
    if (!(error instanceof DroppedBatch)) throw error;
    const first = !this.#dropReasons.has(error.reason);
    this.#dropReasons.add(error.reason);
    this.#observer.onDropped(error, first);
  }

  #reportProblem(): void {
    const { problem } = this.stats.health;
    if (problem === undefined || this.#problems.has(problem)) return;
    this.#problems.add(problem);
    this.#observer.onUnusable(problem);
  }

  #reset(knowledge: 'complete' | 'partial'): void {
    this.#work.cancel();
    this.view.reset(knowledge);
    if (this.stats.restarts === this.#restarts) return;
    this.stats.health.restart();
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

/** Reads `kv@<pod>@<model>`, where the model may have an `@`; another topic names no model. */
function modelIn(topic: string): string | undefined {
  if (!topic.startsWith('kv@')) return undefined;
  const behindPod = topic.indexOf('@', 'kv@'.length);
  const model = behindPod < 0 ? '' : topic.slice(behindPod + 1);
  return model === '' ? undefined : model;
}
