import type { FirstBand } from '../../framework/routing.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { MessageHead } from '../messages/message.ts';
import { Bookings } from './bookings.ts';
import { Doubts } from './doubts.ts';
import { Peer } from './peer.ts';
import type { SharedPicker } from './peer-requests.ts';
import type { ReceivedCounts, ReplicaNotice } from './peer-status.ts';
import { TimeShare } from './time-share.ts';

/** A replica that is silent for so long is gone, and what it has open is released. */
export const GONE_MS: Millis = 5000;
/** A pool has a handful of replicas; more may be a fault or an attack. */
const PEERS_MAX = 64;
/** How much of the time the messages of one replica may take. */
const PEER_SHARE = 0.1;
/** How much of the time replicas that come and go may take. */
const COMING_SHARE = 0.02;

/** Counts of messages that were received. */
export type Received = { -readonly [Name in keyof ReceivedCounts]: number };

export const newReceived = (): Received => ({
  messages: 0,
  bytes: 0,
  malformed: 0,
  forged: 0,
  flooded: 0,
  otherVersions: 0,
  sameId: 0,
  refusedPeers: 0,
  peersGone: 0,
  prefixBlocks: 0,
});

export interface PeersOptions {
  readonly id: string;
  readonly boot: number;
  readonly clock: Clock;
  readonly onNotice?: ((notice: ReplicaNotice) => void) | undefined;
  readonly received: Received;
  /** In a block of this picker's own prompts; undefined before the first one. */
  readonly blockTokens: () => number | undefined;
  readonly onJoined: (peer: Peer) => void;
  readonly intervalMs: Millis;
}

/** The other replicas that send messages. */
export class Peers {
  readonly #options: PeersOptions;
  readonly #peers = new Map<string, Peer>();
  readonly #bookings = new Bookings();
  readonly #doubts: Doubts;
  readonly #comings: TimeShare;
  #picker: SharedPicker | undefined;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#comings = new TimeShare(options.clock, COMING_SHARE);
    this.#doubts = new Doubts(options.clock);
  }

  /** Replicas join from now on. */
  attach(picker: SharedPicker): void {
    this.#picker = picker;
  }

  get all(): readonly Peer[] {
    return [...this.#peers.values()];
  }

  get waiting(): readonly FirstBand[] {
    const waiting: FirstBand[] = [];
    for (const each of this.#peers.values()) if (each.waiting) waiting.push(each.waiting);
    return waiting;
  }

  /**
   * The peer that sent a message of so many bytes, which count for it. Undefined for own messages,
   * and beyond the bounds of how many there are and how often they come. A peer that has started
   * anew is a new one.
   */
  of({ id, boot, sentAt }: MessageHead, bytes: number): Peer | undefined {
    const { clock, id: ownId, boot: ownBoot, onNotice, received } = this.#options;
    if (id === ownId) {
      if (boot === ownBoot) return undefined;
      received.sameId += 1;
      onNotice?.({ kind: 'same-id', peer: id });
      return undefined;
    }
    const known = this.#peers.get(id);
    const peer = known?.boot === boot ? known : this.#come(known, { id, boot });
    if (peer === undefined) {
      received.refusedPeers += 1;
      return undefined;
    }
    peer.received(bytes, clock.now(), clock.wallTime() - sentAt);
    return peer;
  }

  /**
   * To be called each second: drops those that are silent, and doubts those that claim too much.
   * For `stoodMs` this process has stood still before.
   */
  look(stoodMs: Millis): void {
    const { clock, onNotice } = this.#options;
    const now = clock.now();
    for (const peer of this.#peers.values()) {
      if (stoodMs > 0) peer.stoodStill(stoodMs, now);
      if (now - peer.receivedAt > GONE_MS) this.#drop(peer, 'silent');
    }
    if (this.#picker === undefined || this.#peers.size === 0) return;
    for (const { id, address } of this.#doubts.look(this.all, this.#picker))
      onNotice?.({ kind: 'doubted', peer: id, address });
  }

  /** A peer says that it ends. One whose message is not read in time is dropped for its silence. */
  leave(peer: Peer): void {
    this.#comings.run(() => this.#drop(peer, 'ended'));
  }

  /** Releases what all of them have open. */
  stop(): void {
    for (const peer of this.#peers.values()) peer.release(this.#options.clock.now());
    this.#peers.clear();
  }

  #come(
    before: Peer | undefined,
    { id, boot }: Pick<MessageHead, 'id' | 'boot'>,
  ): Peer | undefined {
    let peer: Peer | undefined;
    this.#comings.run(() => {
      if (before !== undefined) this.#drop(before, 'restarted');
      peer = this.#join(id, boot);
    });
    return peer;
  }

  #drop(peer: Peer, reason: 'silent' | 'restarted' | 'ended'): void {
    const { clock, received, onNotice } = this.#options;
    this.#peers.delete(peer.id);
    received.peersGone += 1;
    peer.release(clock.now());
    onNotice?.({ kind: 'left', peer: peer.id, reason });
  }

  #join(id: string, boot: number): Peer | undefined {
    const { clock, onNotice, blockTokens, onJoined, intervalMs } = this.#options;
    if (this.#peers.size >= PEERS_MAX || this.#picker === undefined) return undefined;
    const time = new TimeShare(clock, PEER_SHARE);
    const parts = {
      picker: this.#picker,
      bookings: this.#bookings,
      doubts: this.#doubts,
      blockTokens,
      time,
      intervalMs,
    };
    const peer = new Peer({ id, boot }, parts, clock.now());
    this.#peers.set(id, peer);
    onNotice?.({ kind: 'joined', peer: id });
    onJoined(peer);
    return peer;
  }
}
