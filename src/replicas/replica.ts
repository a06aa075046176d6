import type { Observer } from '../framework/observer.ts';
import type { FirstBand } from '../framework/routing.ts';
import type { Clock, Millis, Timer } from '../framework/runtime.ts';
import type { JournalSubscriber } from '../picker/events/journal.ts';
import { Inbox } from './incoming/inbox.ts';
import type { OpenReplicaLink, ReplicaLink } from './links/link.ts';
import { MESSAGE_KIND } from './messages/message.ts';
import { Outbox } from './outgoing/outbox.ts';
import type { SharedPicker } from './peers/peer-requests.ts';
import type { ReplicaNotice } from './peers/peer-status.ts';
import { newReceived, Peers } from './peers/peers.ts';
import { isPrefixSharing, PrefixExchange } from './prefixes/prefix-exchange.ts';
import type { ReplicaStatus } from './replica-status.ts';

export interface ReplicaOptions {
  /** Unique among the replicas of a pool. */
  readonly id: string;
  /** A random whole number. It distinguishes this process from an earlier one with the same id. */
  readonly boot: number;
  readonly clock: Clock;
  readonly openLink: OpenReplicaLink;
  /** An event waits at most so long for others, before all are sent; a pick mostly for less. */
  readonly intervalMs?: Millis | undefined;
  /** What waits for flow control here: the others leave places for it. */
  readonly waiting?: (() => FirstBand | undefined) | undefined;
  readonly onNotice?: ((notice: ReplicaNotice) => void) | undefined;
}

/** The picker that shares. */
export interface SharingPicker extends SharedPicker {
  observers(): readonly Observer[];
}

/** Long, because the others expect first tokens themselves; picks are sent sooner. */
export const SEND_INTERVAL_MS: Millis = 50;
/** Each replica sends at least so often. */
export const HEARTBEAT_MS: Millis = 1000;

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
  readonly #inbox: Inbox;
  readonly #received = newReceived();
  #picker: SharingPicker | undefined;
  #exchange: PrefixExchange | undefined;
  #link: ReplicaLink | undefined;
  #connection: Connection;
  #tick: Timer | undefined;
  #isStopped = false;
  #beatSequence = -1;
  /** When the next beat is due. */
  #beatAt: Millis;

  constructor(options: ReplicaOptions) {
    const { id, boot, clock, intervalMs = SEND_INTERVAL_MS } = options;
    this.#options = options;
    this.#beatAt = clock.now();
    this.#connection = { state: 'opening', changedAt: this.#beatAt };
    const send: ReplicaLink['send'] = (message, to) => this.#link?.send(message, to) ?? false;
    const waiting = (): FirstBand | undefined => options.waiting?.();
    const endpoints = (): number => this.#picker?.pool.snapshot().length ?? 0;
    this.#outbox = new Outbox({ id, boot, clock, intervalMs, endpoints, waiting, send });
    this.#peers = new Peers({
      ...options,
      intervalMs,
      received: this.#received,
      blockTokens: () => this.#outbox.blockTokens,
      onJoined: (peer) => this.#inbox.ask(peer),
    });
    this.#inbox = new Inbox({
      clock,
      outbox: this.#outbox,
      peers: this.#peers,
      received: this.#received,
      onNotice: options.onNotice,
      pause: (reason) => {
        this.#link?.pause();
        this.#onDisconnected(reason);
      },
      resume: () => this.#link?.resume(),
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
    this.#inbox.attach(picker, this.#exchange);
    this.#link = openLink(id, {
      // A link may receive until it has sent the last messages, when nothing is booked any more.
      onMessage: (message) => {
        if (!this.#isStopped) this.#inbox.receive(message);
      },
      onConnected: () => this.#onConnected(),
      onForged: (bytes) => {
        if (!this.#isStopped) this.#inbox.forged(bytes);
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
      connected: this.isConnected,
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
    this.#isStopped = true;
    this.#tick?.cancel();
    if (this.isConnected) {
      this.#outbox.flush();
      this.#outbox.sendOther(MESSAGE_KIND.bye, undefined);
    }
    this.#outbox.disconnected();
    this.#outbox.stop();
    this.#exchange?.stop();
    this.#inbox.stop();
    this.#peers.stop();
    await this.#link?.close();
  }

  /** Whether what the others do is known now. */
  get isConnected(): boolean {
    return this.#connection.state === 'connected';
  }

  /** What it has lost, as a sentence; undefined while it is connected, or connects first. */
  get trouble(): string | undefined {
    return this.#connection.state === 'lost'
      ? 'no connection to NATS: this picker decides without the other replicas'
      : undefined;
  }

  #onConnected(): void {
    if (this.isConnected || this.#isStopped) return;
    this.#connection = { state: 'connected', changedAt: this.#options.clock.now() };
    this.#outbox.connected();
    this.#inbox.connected();
    this.#outbox.sendOther(MESSAGE_KIND.askOpen, undefined);
    this.#options.onNotice?.({ kind: 'connected' });
  }

  #onDisconnected(reason: string): void {
    const { state, changedAt } = this.#connection;
    // It is what the end asks for.
    if (state === 'lost' || this.#isStopped) return;
    // It has been without a connection since it began, if it has never had one.
    const lostAt = state === 'opening' ? changedAt : this.#options.clock.now();
    this.#connection = { state: 'lost', changedAt: lostAt };
    if (state === 'connected') this.#outbox.disconnected();
    this.#options.onNotice?.({ kind: 'disconnected', reason });
  }

  #beat(): void {
    const { clock } = this.#options;
    const lateMs = clock.now() - this.#beatAt;
    if (this.#outbox.sequence === this.#beatSequence) this.#outbox.flush();
    this.#beatSequence = this.#outbox.sequence;
    this.#peers.look(lateMs < HEARTBEAT_MS ? 0 : lateMs);
    this.#beatAt = clock.now() + HEARTBEAT_MS;
    this.#tick = clock.setTimer(HEARTBEAT_MS, () => this.#beat());
  }
}

/** In whole microseconds: a clock counts in more digits than anybody reads. */
function toMicros(ms: Millis): Millis {
  return Math.round(1000 * ms) / 1000;
}
