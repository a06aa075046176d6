import type { Clock, Millis } from '../../framework/runtime.ts';
import { MESSAGE_KIND, type MessageHead, readHead, VersionError } from '../messages/message.ts';
import { readEntries } from '../messages/read-entries.ts';
import { ByteReader, WireError } from '../messages/wire.ts';
import type { Outbox } from '../outgoing/outbox.ts';
import { PEER_OPEN_MAX } from '../peers/bookings.ts';
import { FloodGuard } from '../peers/flood-guard.ts';
import type { Peer } from '../peers/peer.ts';
import type { SharedPicker } from '../peers/peer-requests.ts';
import type { ReplicaNotice } from '../peers/peer-status.ts';
import type { Peers, Received } from '../peers/peers.ts';
import { TimeShare } from '../peers/time-share.ts';
import type { PrefixExchange } from '../prefixes/prefix-exchange.ts';
import { WarmUp } from '../prefixes/warm-up.ts';

/** How much of the time the messages of all replicas may take. */
const ALL_SHARE = 0.3;

export interface InboxOptions {
  readonly clock: Clock;
  readonly outbox: Outbox;
  readonly peers: Peers;
  /** What has come, for documents. */
  readonly received: Received;
  readonly onNotice?: ((notice: ReplicaNotice) => void) | undefined;
  /** Stops receiving until `resume`. The reason is a sentence. */
  readonly pause: (reason: string) => void;
  readonly resume: () => void;
}

/** Reads the messages of other replicas within limits, applies them, and answers what they ask. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #startedAt: Millis;
  readonly #time: TimeShare;
  readonly #flood: FloodGuard;
  readonly #warmUp = new WarmUp();
  #picker: SharedPicker | undefined;
  #exchange: PrefixExchange | undefined;

  constructor(options: InboxOptions) {
    const { clock, pause, resume } = options;
    this.#options = options;
    this.#startedAt = clock.now();
    this.#time = new TimeShare(clock, ALL_SHARE);
    this.#flood = new FloodGuard({ clock, pause, resume });
  }

  /** To be called once, before messages come. */
  attach(picker: SharedPicker, exchange: PrefixExchange): void {
    this.#picker = picker;
    this.#exchange = exchange;
  }

  /** There is a new connection. */
  connected(): void {
    this.#warmUp.begin();
  }

  stop(): void {
    this.#flood.stop();
  }

  /** Counts a message that does not have the mark of our key. */
  forged(bytes: number): void {
    if (this.#takesMore(bytes)) this.#options.received.forged += 1;
  }

  receive(message: Uint8Array): void {
    if (!this.#takesMore(message.length)) return;
    const { peers, received, onNotice } = this.#options;
    try {
      const reader = new ByteReader(message);
      const head = readHead(reader);
      const peer = peers.of(head, message.length);
      if (peer !== undefined) this.#takeInTime(head, reader, peer);
    } catch (error) {
      if (error instanceof VersionError) received.otherVersions += 1;
      else if (error instanceof WireError) received.malformed += 1;
      else throw error;
      onNotice?.({ kind: 'unreadable', reason: error.message });
    }
  }

  /** Asks a peer for what it has open. */
  ask(peer: Peer): void {
    const now = this.#options.clock.now();
    if (!peer.mayAsk(now)) return;
    if (this.#options.outbox.sendOther(MESSAGE_KIND.askOpen, peer.id)) peer.asked(now);
  }

  /** Counts a message; false where too many come. */
  #takesMore(bytes: number): boolean {
    const { received } = this.#options;
    received.messages += 1;
    received.bytes += bytes;
    const takes = this.#flood.takes(bytes);
    if (!takes) received.flooded += 1;
    return takes;
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
    else if (kind === MESSAGE_KIND.bye) this.#options.peers.leave(peer);
  }

  #takeBatch(sequence: number, reader: ByteReader, peer: Peer): void {
    const open = reader.number();
    const { origin, entries } = readEntries(reader, this.#options.clock.now());
    const place = peer.takeBatch(sequence, entries, origin);
    if (place === 'old') return;
    const differs = open !== peer.requests.size && open <= PEER_OPEN_MAX;
    if (differs || place === 'after-gap') this.ask(peer);
  }

  #takeOpen(reader: ByteReader, peer: Peer): void {
    const { clock, outbox } = this.#options;
    const [from, to] = [reader.number(), reader.number()];
    // How long the sender has run, which nothing here needs.
    reader.number();
    const heldBlocks = reader.number();
    const { origin, entries } = readEntries(reader, clock.now());
    const numbers = new Set(entries.flatMap((each) => ('number' in each ? [each.number] : [])));
    const now = clock.now();
    this.#picker?.elsewhere.events(() => {
      peer.requests.keepOnly(numbers, from, to, now);
      peer.apply(entries, origin);
    });
    if (heldBlocks === 0 || !this.#warmUp.isDue) return;
    if (outbox.sendOther(MESSAGE_KIND.askPrefixes, peer.id)) this.#warmUp.asked(peer.id, now);
  }

  #takePrefixes(reader: ByteReader, peer: Peer): void {
    const { clock, received } = this.#options;
    if (!this.#warmUp.takesFrom(peer.id, clock.now())) return;
    received.prefixBlocks += this.#exchange?.take(reader) ?? 0;
  }

  /** Says what this replica has open. */
  #answer(peer: Peer): void {
    const { clock, outbox } = this.#options;
    const now = clock.now();
    if (!peer.mayAnswer(now)) return;
    peer.answered(now);
    outbox.sendOpen(peer.id, now - this.#startedAt, this.#exchange?.held() ?? 0);
  }
}
