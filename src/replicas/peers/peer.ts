import type { FirstBand } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Entry, RoutedEntry } from '../messages/entries.ts';
import { type BatchCounts, BatchOrder, type BatchPlace } from './batch-order.ts';
import type { Bookings } from './bookings.ts';
import { DelaySpread } from './delay-spread.ts';
import type { Claimant, Doubts } from './doubts.ts';
import { PeerRequests, type RequestCounts, type SharedPicker } from './peer-requests.ts';
import type { TimeShare } from './time-share.ts';

/** The least time between two questions to a replica, and between two answers. */
const ASK_MS: Millis = 1000;
const ANSWER_MS: Millis = 250;
/**
 * News is sent within one interval. It is late by another where a machine is busy. What all messages
 * take does not count: the pick took as long.
 */
const INTERVALS = 2;

/** What all peers share. */
export interface PeerParts {
  readonly picker: SharedPicker;
  readonly bookings: Bookings;
  readonly doubts: Doubts;
  /** In a block of this picker's own prompts; undefined before the first one. */
  readonly blockTokens: () => number | undefined;
  /** How much of the time its messages may take. */
  readonly time: TimeShare;
  /** It sends what happens within this time: replicas have the same configuration. */
  readonly intervalMs: Millis;
}

/** Counts since the first message of the peer. */
export interface PeerCounts extends BatchCounts, RequestCounts {
  events: number;
  bytes: number;
  /** Messages that were not read, because those before took too much time. */
  hurried: number;
}

/** What is known of one other replica: its messages, and what may be asked of it. */
export class Peer implements Claimant {
  readonly id: string;
  readonly boot: number;
  readonly counts: PeerCounts = {
    batches: 0,
    events: 0,
    bytes: 0,
    duplicates: 0,
    missed: 0,
    unknownEndpoints: 0,
    refused: 0,
    doubted: 0,
    hurried: 0,
  };
  readonly #batches = new BatchOrder(this.counts);
  readonly #delays = new DelaySpread();
  readonly time: TimeShare;
  #receivedAt: Millis;
  #lagMs: Millis = 0;
  /** When it was last asked for what it has open. */
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  /** When it last got what is open here. */
  #answeredAt: Millis = Number.NEGATIVE_INFINITY;
  #waiting: FirstBand | undefined;
  readonly #picker: SharedPicker;
  readonly requests: PeerRequests;

  constructor(
    { id, boot }: { readonly id: string; readonly boot: number },
    parts: PeerParts,
    now: Millis,
  ) {
    this.id = id;
    this.boot = boot;
    this.time = parts.time;
    this.#picker = parts.picker;
    this.requests = new PeerRequests({
      ...parts,
      peerId: id,
      isDoubted: (address) => parts.doubts.isDoubted(this, address),
      counts: this.counts,
      messageDelayMs: () => INTERVALS * parts.intervalMs + this.#delays.spreadMs,
    });
    this.#receivedAt = now;
  }

  /** When its last message came. */
  get receivedAt(): Millis {
    return this.#receivedAt;
  }

  /** How long its last message took, by the clocks of both machines. */
  get lagMs(): Millis {
    return this.#lagMs;
  }

  /** What waits for flow control there, by its last batch. */
  get waiting(): FirstBand | undefined {
    return this.#waiting;
  }

  /** Counts a message of any kind. `lagMs` is below zero where the clock there is ahead. */
  received(bytes: number, at: Millis, lagMs: Millis): void {
    this.counts.bytes += bytes;
    this.#receivedAt = at;
    this.#lagMs = Math.max(0, lagMs);
    this.#delays.add(lagMs, at);
  }

  /** This process stood still for so long: what came meanwhile is still to be read. */
  stoodStill(forMs: Millis, now: Millis): void {
    this.#receivedAt = Math.min(now, this.#receivedAt + forMs);
  }

  /** Counts a message that was not read, because those before took too much time. */
  hurried(): void {
    this.counts.hurried += 1;
  }

  /** Whether it may be asked for what it has open. */
  mayAsk(now: Millis): boolean {
    return now - this.#askedAt >= ASK_MS;
  }

  asked(now: Millis): void {
    this.#askedAt = now;
  }

  /** Whether it may get what is open here. */
  mayAnswer(now: Millis): boolean {
    return now - this.#answeredAt >= ANSWER_MS;
  }

  answered(now: Millis): void {
    this.#answeredAt = now;
  }

  /** Applies a batch that has not come before. What waits there is what this one says, or nothing. */
  takeBatch(sequence: number, entries: readonly Entry[], origin: Millis): BatchPlace {
    const place = this.#batches.place(sequence);
    if (place === 'old') return place;
    this.#waiting = undefined;
    this.#picker.elsewhere.events(() => this.apply(entries, origin));
    return place;
  }

  /** Applies what has happened. `origin` is the time here from which its times count. */
  apply(entries: readonly Entry[], origin: Millis): void {
    this.counts.events += entries.length;
    for (let at = 0; at < entries.length; at++) {
      const entry = entries[at] as Entry;
      switch (entry.kind) {
        case 'routed':
          at += this.#takeRouted(entry, entries, at + 1, origin);
          break;
        case 'waiting':
          this.#waiting = entry;
          break;
        case 'body-read':
        case 'answered':
          this.requests.prompt(entry);
          break;
        case 'first-token':
        case 'served':
        case 'done':
          this.requests.change(entry, origin + entry.afterMs);
      }
    }
  }

  /**
   * Takes a request. Where its end follows, it need not be reserved. Returns how many of the entries
   * from `next` on are taken with it.
   */
  #takeRouted(
    routed: RoutedEntry,
    entries: readonly Entry[],
    next: number,
    origin: Millis,
  ): number {
    const { number, afterMs } = routed;
    const first = entries[next];
    const firstToken = first?.kind === 'first-token' && first.number === number ? first : undefined;
    const taken = firstToken === undefined ? 1 : 2;
    const last = entries[next + taken - 1];
    const hasEnded = last?.kind === 'done' && last.number === number;
    if (!hasEnded || this.requests.isKnown(number)) {
      this.requests.routed(routed, origin + afterMs);
      return 0;
    }
    this.requests.ended(routed, origin + afterMs, {
      firstTokenAt: firstToken && origin + firstToken.afterMs,
      at: origin + last.afterMs,
      outcome: last.outcome,
      usage: last.usage,
    });
    return taken;
  }

  /** Releases all that it has open where the peer is gone, or what it has booked at an address. */
  release(now: Millis, address?: string): void {
    const { elsewhere } = this.#picker;
    elsewhere.events(() => {
      if (address === undefined) return this.requests.releaseAll(now);
      elsewhere.happenedAt(now);
      this.requests.releaseAt(address);
    });
  }

  addClaims(claims: Map<string, number>): void {
    this.requests.addClaims(claims);
  }
}
