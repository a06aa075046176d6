import type { Observer } from '../framework/plugin.ts';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import type { JournalSubscriber } from '../picker/events/journal.ts';
import { type Entry, readEntry, readTime } from './entries.ts';
import type { OpenReplicaLink, ReplicaLink } from './link.ts';
import { KIND, type MessageHead, readHead, readTexts, VersionError } from './message.ts';
import { Outbox } from './outbox.ts';
import { OPEN_MAX, Peer, type SharedPicker } from './peer.ts';
import { isPrefixSharing, PrefixExchange } from './prefix-exchange.ts';
import type { ReplicaNotice, ReplicaStatus } from './replica-status.ts';
import { ByteReader, WireError } from './wire.ts';

export interface ReplicaOptions {
  /** Unique among the replicas of a pool. */
  readonly id: string;
  /** A whole number by chance, to tell this process from one with the same id before it. */
  readonly boot: number;
  readonly clock: Clock;
  readonly openLink: OpenReplicaLink;
  /** So long an event waits for others at most, before all are sent. */
  readonly intervalMs?: Millis | undefined;
  readonly onNotice?: ((notice: ReplicaNotice) => void) | undefined;
}

/** The picker that shares. */
export interface SharingPicker extends SharedPicker {
  observers(): readonly Observer[];
}

/** A good batch under load, and little against the time of a request. */
export const INTERVAL_MS: Millis = 20;
/** Each replica is heard at least so often. */
export const HEARTBEAT_MS: Millis = 1000;
/** A replica that is silent for so long is gone, and what it has open is released. */
export const GONE_MS: Millis = 5000;
/** A pool has a handful of replicas; more may be a fault or an attack. */
const PEERS_MAX = 64;
/** The least time between two questions to one replica, and between two answers. */
const ASK_MS = 1000;
const ANSWER_MS = 250;
/** Prompts are taken from the replica that was asked, for so long. */
const PREFIXES_MS = 60_000;

/**
 * Shares with other replicas what this picker does, and books here what they do. Without a
 * connection the picker knows what it does itself; nothing it does ever waits for the others.
 */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #outbox: Outbox;
  readonly #peers = new Map<string, Peer>();
  readonly #answeredAt = new Map<string, Millis>();
  readonly #startedAt: Millis;
  readonly #received = {
    messages: 0,
    bytes: 0,
    malformed: 0,
    forged: 0,
    otherVersions: 0,
    sameId: 0,
    refusedPeers: 0,
    peersGone: 0,
    prefixBlocks: 0,
  };
  #picker: SharingPicker | undefined;
  #exchange: PrefixExchange | undefined;
  #link: ReplicaLink | undefined;
  #connected = false;
  #changedAt: Millis;
  #tick: Timer | undefined;
  #beatSequence = -1;
  /** Who was asked for prompts, and when; undefined: nobody since the last connection. */
  #warming: { readonly peer: string; readonly at: Millis } | undefined;

  constructor(options: ReplicaOptions) {
    const { id, boot, clock, intervalMs = INTERVAL_MS } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#changedAt = this.#startedAt;
    const send: ReplicaLink['send'] = (message, to) => this.#link?.send(message, to) ?? false;
    this.#outbox = new Outbox({ id, boot, clock, intervalMs, send });
  }

  /** What tells the others what the picker does: give it to the picker among its subscribers. */
  get subscriber(): JournalSubscriber {
    return this.#outbox;
  }

  /** Connects. To be called once. */
  start(picker: SharingPicker): void {
    const { clock, openLink, id } = this.#options;
    this.#picker = picker;
    this.#exchange = new PrefixExchange({
      clock,
      endpoints: () => picker.pool.snapshot(),
      endpoint: (each) => picker.pool.get(each),
      indexes: () => picker.observers().filter(isPrefixSharing),
      send: (to, write) => this.#outbox.sendOther(KIND.prefixes, to, write),
    });
    this.#link = openLink(id, {
      onMessage: (message) => this.#onMessage(message),
      onConnected: () => this.#onConnected(),
      onForged: () => {
        this.#received.forged += 1;
      },
      onDisconnected: (reason) => this.#onDisconnected(reason),
    });
    this.#beat();
  }

  status(): ReplicaStatus {
    const { id, clock } = this.#options;
    const now = clock.now();
    return {
      id,
      connected: this.#connected,
      sinceMs: now - this.#changedAt,
      open: this.#outbox.open,
      sent: { ...this.#outbox.sent },
      received: { ...this.#received },
      peers: [...this.#peers.values()].map((peer) => ({
        id: peer.id,
        silentMs: now - peer.heardAt,
        lagMs: peer.lagMs,
        open: peer.open,
        ...peer.counts,
      })),
    };
  }

  /** Says goodbye, so that the others release at once what is open here, and disconnects. */
  async stop(): Promise<void> {
    this.#tick?.cancel();
    if (this.#connected) {
      this.#outbox.flush();
      this.#outbox.sendOther(KIND.bye, undefined);
    }
    this.#outbox.connected(false);
    this.#outbox.stop();
    this.#exchange?.stop();
    for (const peer of this.#peers.values()) peer.release(this.#options.clock.now());
    this.#peers.clear();
    await this.#link?.close();
  }

  #onConnected(): void {
    if (this.#connected) return;
    this.#changed(true);
    this.#outbox.connected(true);
    this.#warming = undefined;
    this.#outbox.sendOther(KIND.hello, undefined);
    this.#options.onNotice?.({ kind: 'connected' });
  }

  #onDisconnected(reason: string): void {
    if (!this.#connected) return;
    this.#changed(false);
    this.#outbox.connected(false);
    this.#options.onNotice?.({ kind: 'disconnected', reason });
  }

  #changed(connected: boolean): void {
    this.#connected = connected;
    this.#changedAt = this.#options.clock.now();
  }

  #beat(): void {
    const { clock } = this.#options;
    const now = clock.now();
    if (this.#outbox.sequence === this.#beatSequence) this.#outbox.flush();
    this.#beatSequence = this.#outbox.sequence;
    for (const peer of this.#peers.values())
      if (now - peer.heardAt > GONE_MS) this.#drop(peer, 'silent');
    this.#tick = clock.setTimer(HEARTBEAT_MS, () => this.#beat());
  }

  #onMessage(message: Uint8Array): void {
    this.#received.messages += 1;
    this.#received.bytes += message.length;
    try {
      const reader = new ByteReader(message);
      const head = readHead(reader);
      const peer = this.#peerOf(head);
      if (peer === undefined) return;
      peer.counts.bytes += message.length;
      this.#take(head, reader, peer);
    } catch (error) {
      if (error instanceof VersionError) this.#received.otherVersions += 1;
      else if (error instanceof WireError) this.#received.malformed += 1;
      else throw error;
      this.#options.onNotice?.({ kind: 'unreadable', reason: error.message });
    }
  }

  /** Undefined for own messages, and beyond the bound. A peer that has started anew is a new one. */
  #peerOf({ id, boot, sentAt }: MessageHead): Peer | undefined {
    const { clock, id: ownId, boot: ownBoot, onNotice } = this.#options;
    if (id === ownId) {
      if (boot === ownBoot) return undefined;
      this.#received.sameId += 1;
      onNotice?.({ kind: 'same-id', peer: id });
      return undefined;
    }
    const now = clock.now();
    let peer = this.#peers.get(id);
    if (peer !== undefined && peer.boot !== boot) {
      this.#drop(peer, 'restarted');
      peer = undefined;
    }
    if (peer === undefined) {
      if (this.#peers.size >= PEERS_MAX || this.#picker === undefined) {
        this.#received.refusedPeers += 1;
        return undefined;
      }
      peer = new Peer({ id, boot }, this.#picker, now);
      this.#peers.set(id, peer);
      onNotice?.({ kind: 'joined', peer: id });
      this.#ask(peer);
    }
    peer.heardAt = now;
    peer.lagMs = Math.max(0, clock.wallTime() - sentAt);
    return peer;
  }

  #take({ kind, sequence }: MessageHead, reader: ByteReader, peer: Peer): void {
    if (kind === KIND.batch) this.#takeBatch(sequence, reader, peer);
    else if (kind === KIND.hello) this.#answer(peer);
    else if (kind === KIND.open) this.#takeOpen(reader, peer);
    else if (kind === KIND.ask) this.#exchange?.sendTo(peer.id);
    else if (kind === KIND.prefixes) this.#takePrefixes(reader, peer);
    else if (kind === KIND.bye) this.#drop(peer, 'ended');
  }

  #takeBatch(sequence: number, reader: ByteReader, peer: Peer): void {
    const open = reader.number();
    const { origin, entries } = this.#entriesOf(reader);
    const { missed } = peer.counts;
    if (!peer.takes(sequence)) return;
    this.#picker?.elsewhere.events(() => peer.apply(entries, origin));
    const differs = open !== peer.open && open <= OPEN_MAX;
    if (differs || peer.counts.missed > missed) this.#ask(peer);
  }

  #takeOpen(reader: ByteReader, peer: Peer): void {
    const [from, to] = [reader.number(), reader.number()];
    const [, heldBlocks] = [reader.number(), reader.number()];
    const { origin, entries } = this.#entriesOf(reader);
    const numbers = new Set(entries.map(({ number }) => number));
    const now = this.#options.clock.now();
    this.#picker?.elsewhere.events(() => {
      peer.keepOnly(numbers, from, to, now);
      peer.apply(entries, origin);
    });
    if (heldBlocks === 0 || this.#warming !== undefined) return;
    if (this.#outbox.sendOther(KIND.ask, peer.id)) this.#warming = { peer: peer.id, at: now };
  }

  #takePrefixes(reader: ByteReader, peer: Peer): void {
    const { peer: asked, at = 0 } = this.#warming ?? {};
    if (asked !== peer.id || this.#options.clock.now() - at > PREFIXES_MS) return;
    this.#received.prefixBlocks += this.#exchange?.take(reader) ?? 0;
  }

  /** All entries are read before one is applied: a message is applied whole or not at all. */
  #entriesOf(reader: ByteReader): { origin: Millis; entries: readonly Entry[] } {
    const origin = this.#options.clock.now() - readTime(reader);
    const texts = readTexts(reader);
    const entries: Entry[] = [];
    while (reader.left > 0) {
      const entry = readEntry(reader, texts);
      if (entry !== undefined) entries.push(entry);
    }
    return { origin, entries };
  }

  /** Asks a peer for what it has open. */
  #ask(peer: Peer): void {
    const now = this.#options.clock.now();
    if (now - peer.askedAt < ASK_MS) return;
    if (this.#outbox.sendOther(KIND.hello, peer.id)) peer.askedAt = now;
  }

  #answer({ id }: Peer): void {
    const now = this.#options.clock.now();
    if (now - (this.#answeredAt.get(id) ?? Number.NEGATIVE_INFINITY) < ANSWER_MS) return;
    this.#answeredAt.set(id, now);
    this.#outbox.sendOpen(id, now - this.#startedAt, this.#exchange?.held() ?? 0);
  }

  #drop(peer: Peer, reason: 'silent' | 'restarted' | 'ended'): void {
    this.#peers.delete(peer.id);
    this.#answeredAt.delete(peer.id);
    this.#received.peersGone += 1;
    peer.release(this.#options.clock.now());
    this.#options.onNotice?.({ kind: 'left', peer: peer.id, reason });
  }
}
