import type { Observer } from '../framework/observer.ts';
import type { FirstBand } from '../framework/routing.ts';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import type { JournalSubscriber } from '../picker/events/journal.ts';
import type { OpenReplicaLink, ReplicaLink } from './links/link.ts';
import { MESSAGE_KIND, type MessageHead, readHead, VersionError } from './messages/message.ts';
import { readEntries } from './messages/read-entries.ts';
import { ByteReader, WireError } from './messages/wire.ts';
import { Outbox } from './outgoing/outbox.ts';
import { PEER_OPEN_MAX } from './peers/bookings.ts';
import { FloodGuard } from './peers/flood-guard.ts';
import type { Peer } from './peers/peer.ts';
import type { SharedPicker } from './peers/peer-requests.ts';
import type { ReplicaNotice } from './peers/peer-status.ts';
import { newReceived, Peers } from './peers/peers.ts';
import { TimeShare } from './peers/time-share.ts';
import { isPrefixSharing, PrefixExchange } from './prefix-exchange.ts';
import type { ReplicaStatus } from './replica-status.ts';
import { WarmUp } from './warm-up.ts';

export interface ReplicaOptions {
  /** Unique among the replicas of a pool. */
  readonly id: string;
  /** A random whole number. It distinguishes this process from an earlier one with the same id. */
  readonly boot: number;
  readonly clock: Clock;
  readonly openLink: OpenReplicaLink;
  /** An event waits at most so long for others, before all are sent. */
  readonly intervalMs?: Millis | undefined;
  /** What waits for flow control here: the others leave places for it. */
  readonly waiting?: (() => FirstBand | undefined) | undefined;
  readonly onNotice?: ((notice: ReplicaNotice) => void) | undefined;
}

/** The picker that shares. */
export interface SharingPicker extends SharedPicker {
  observers(): readonly Observer[];
}

/** A good batch under load, and little against the time of a request. */
export const SEND_INTERVAL_MS: Millis = 20;
/** Each replica sends at least so often. */
export const HEARTBEAT_MS: Millis = 1000;
/** How much of the time the messages of all replicas may take. */
const ALL_SHARE = 0.3;

/** `opening`: there has been no connection yet, and it was not said that there is none. */
interface Connection {
  readonly state: 'opening' | 'connected' | 'lost';
  /** When there began to be a connection, or none. */
  readonly changedAt: Millis;
}

/**
 * Shares with other replicas what this picker does, and books here what they do. Without a
 * connection the picker knows what it does itself; nothing it does ever waits for the others.
 */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #outbox: Outbox;
  readonly #peers: Peers;
  readonly #startedAt: Millis;
  readonly #time: TimeShare;
  readonly #flood: FloodGuard;
  readonly #received = newReceived();
  #picker: SharingPicker | undefined;
  #exchange: PrefixExchange | undefined;
  #link: ReplicaLink | undefined;
  #connection: Connection;
  #tick: Timer | undefined;
  #beatSequence = -1;
  readonly #warmUp = new WarmUp();

  constructor(options: ReplicaOptions) {
    const { id, boot, clock, intervalMs = SEND_INTERVAL_MS } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#time = new TimeShare(clock, ALL_SHARE);
    this.#connection = { state: 'opening', changedAt: this.#startedAt };
    this.#flood = new FloodGuard({
      clock,
      pause: (reason) => {
        this.#link?.pause();
        this.#onDisconnected(reason);
      },
      resume: () => this.#link?.resume(),
    });
    const send: ReplicaLink['send'] = (message, to) => this.#link?.send(message, to) ?? false;
    const waiting = (): FirstBand | undefined => options.waiting?.();
    this.#outbox = new Outbox({ id, boot, clock, intervalMs, waiting, send });
    this.#peers = new Peers({
      ...options,
      received: this.#received,
      blockTokens: () => this.#outbox.blockTokens,
      onJoined: (peer) => this.#ask(peer),
    });
  }

  /** It sends what the picker does to the others: give it to the picker among its subscribers. */
  get subscriber(): JournalSubscriber {
    return this.#outbox;
  }

  /** Connects. To be called once. */
  start(picker: SharingPicker): void {
    const { clock, openLink, id } = this.#options;
    this.#picker = picker;
    this.#peers.attach(picker);
    this.#exchange = new PrefixExchange({
      clock,
      endpoints: () => picker.pool.snapshot(),
      endpoint: (each) => picker.pool.get(each),
      indexes: () => picker.observers().filter(isPrefixSharing),
      send: (to, write) => this.#outbox.sendOther(MESSAGE_KIND.prefixes, to, write),
    });
    this.#link = openLink(id, {
      onMessage: (message) => this.#onMessage(message),
      onConnected: () => this.#onConnected(),
      onForged: (bytes) => {
        if (this.#takesMore(bytes)) this.#received.forged += 1;
      },
      onRefused: (reason) => this.#options.onNotice?.({ kind: 'refused', reason }),
      onDisconnected: (reason) => this.#onDisconnected(reason),
    });
    this.#beat();
  }

  status(): ReplicaStatus {
    const { id, clock } = this.#options;
    const now = clock.now();
    return {
      id,
      connected: this.#isConnected,
      sinceMs: toMicros(now - this.#connection.changedAt),
      open: this.#outbox.open,
      sent: this.#outbox.sent,
      received: { ...this.#received },
      peers: this.#peers.all.map((peer) => ({
        id: peer.id,
        silentMs: toMicros(now - peer.receivedAt),
        lagMs: toMicros(peer.lagMs),
        open: peer.requests.size,
        ...peer.counts,
      })),
    };
  }

  /** What waits for flow control at each of the others where anything does. */
  waitingElsewhere(): readonly FirstBand[] {
    return this.#peers.waiting;
  }

  /** Says goodbye, so that the others release at once what is open here, and disconnects. */
  async stop(): Promise<void> {
    this.#tick?.cancel();
    if (this.#isConnected) {
      this.#outbox.flush();
      this.#outbox.sendOther(MESSAGE_KIND.bye, undefined);
    }
    this.#outbox.disconnected();
    this.#outbox.stop();
    this.#exchange?.stop();
    this.#flood.stop();
    this.#peers.stop();
    await this.#link?.close();
  }

  get #isConnected(): boolean {
    return this.#connection.state === 'connected';
  }

  #onConnected(): void {
    if (this.#isConnected) return;
    this.#connection = { state: 'connected', changedAt: this.#options.clock.now() };
    this.#outbox.connected();
    this.#warmUp.begin();
    this.#outbox.sendOther(MESSAGE_KIND.askOpen, undefined);
    this.#options.onNotice?.({ kind: 'connected' });
  }

  #onDisconnected(reason: string): void {
    const { state, changedAt } = this.#connection;
    if (state === 'lost') return;
    // It has been without a connection since it began, if it has never had one.
    const lostAt = state === 'opening' ? changedAt : this.#options.clock.now();
    this.#connection = { state: 'lost', changedAt: lostAt };
    if (state === 'connected') this.#outbox.disconnected();
    this.#options.onNotice?.({ kind: 'disconnected', reason });
  }

  #beat(): void {
    const { clock } = this.#options;
    if (this.#outbox.sequence === this.#beatSequence) this.#outbox.flush();
    this.#beatSequence = this.#outbox.sequence;
    this.#peers.look();
    this.#tick = clock.setTimer(HEARTBEAT_MS, () => this.#beat());
  }

  /** Counts a message; false where too many come. */
  #takesMore(bytes: number): boolean {
    this.#received.messages += 1;
    this.#received.bytes += bytes;
    const takes = this.#flood.takes(bytes);
    if (!takes) this.#received.flooded += 1;
    return takes;
  }

  #onMessage(message: Uint8Array): void {
    if (!this.#takesMore(message.length)) return;
    try {
      const reader = new ByteReader(message);
      const head = readHead(reader);
      const peer = this.#peers.of(head, message.length);
      if (peer !== undefined) this.#takeInTime(head, reader, peer);
    } catch (error) {
      if (error instanceof VersionError) this.#received.otherVersions += 1;
      else if (error instanceof WireError) this.#received.malformed += 1;
      else throw error;
      this.#options.onNotice?.({ kind: 'unreadable', reason: error.message });
    }
  }

  /** What floods the link must not hold up requests: what it misses, a replica asks for later. */
  #takeInTime(head: MessageHead, reader: ByteReader, peer: Peer): void {
    const inTime = this.#time.run(() => peer.time.run(() => this.#take(head, reader, peer)));
    if (inTime) return;
    peer.hurried();
    if (head.kind === MESSAGE_KIND.prefixes) this.#warmUp.missed();
  }

  #take({ kind, sequence }: MessageHead, reader: ByteReader, peer: Peer): void {
    if (kind === MESSAGE_KIND.batch) this.#takeBatch(sequence, reader, peer);
    else if (kind === MESSAGE_KIND.askOpen) this.#answer(peer);
    else if (kind === MESSAGE_KIND.open) this.#takeOpen(reader, peer);
    else if (kind === MESSAGE_KIND.askPrefixes) this.#exchange?.sendTo(peer.id);
    else if (kind === MESSAGE_KIND.prefixes) this.#takePrefixes(reader, peer);
    else if (kind === MESSAGE_KIND.bye) this.#peers.leave(peer);
  }

  #takeBatch(sequence: number, reader: ByteReader, peer: Peer): void {
    const open = reader.number();
    const { origin, entries } = readEntries(reader, this.#options.clock.now());
    const place = peer.takeBatch(sequence, entries, origin);
    if (place === 'old') return;
    const differs = open !== peer.requests.size && open <= PEER_OPEN_MAX;
    if (differs || place === 'after-gap') this.#ask(peer);
  }

  #takeOpen(reader: ByteReader, peer: Peer): void {
    const [from, to] = [reader.number(), reader.number()];
    // How long the sender has run, which nothing here needs.
    reader.number();
    const heldBlocks = reader.number();
    const { origin, entries } = readEntries(reader, this.#options.clock.now());
    const numbers = new Set(entries.flatMap((each) => ('number' in each ? [each.number] : [])));
    const now = this.#options.clock.now();
    this.#picker?.elsewhere.events(() => {
      peer.requests.keepOnly(numbers, from, to, now);
      peer.apply(entries, origin);
    });
    if (heldBlocks === 0 || !this.#warmUp.isDue) return;
    if (this.#outbox.sendOther(MESSAGE_KIND.askPrefixes, peer.id)) this.#warmUp.asked(peer.id, now);
  }

  #takePrefixes(reader: ByteReader, peer: Peer): void {
    if (!this.#warmUp.takesFrom(peer.id, this.#options.clock.now())) return;
    this.#received.prefixBlocks += this.#exchange?.take(reader) ?? 0;
  }

  /** Asks a peer for what it has open. */
  #ask(peer: Peer): void {
    const now = this.#options.clock.now();
    if (!peer.mayAsk(now)) return;
    if (this.#outbox.sendOther(MESSAGE_KIND.askOpen, peer.id)) peer.asked(now);
  }

  #answer(peer: Peer): void {
    const now = this.#options.clock.now();
    if (!peer.mayAnswer(now)) return;
    peer.answered(now);
    this.#outbox.sendOpen(peer.id, now - this.#startedAt, this.#exchange?.held() ?? 0);
  }
}

/** In whole microseconds: a clock counts in more digits than anybody reads. */
function toMicros(ms: Millis): Millis {
  return Math.round(1000 * ms) / 1000;
}
