import type { EndpointId } from '../../framework/endpoint.ts';
import { NO_BLOCKS, type PromptBlocks } from '../../framework/request.ts';
import { InFlightMap } from '../../framework/request-map.ts';
import type { FirstBand, RoutedRequest } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { Elsewhere } from '../../picker/cycles/elsewhere.ts';
import type { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import type {
  ChangeEntry,
  DoneEntry,
  Entry,
  PromptEntry,
  RoutedEntry,
} from '../messages/entries.ts';
import { promptOf } from '../messages/prompt-words.ts';
import { type BatchCounts, BatchOrder, type BatchPlace } from './batch-order.ts';
import type { Bookings } from './bookings.ts';
import type { Claimant, Doubts, Witness } from './doubts.ts';
import { peerRequest } from './peer-request.ts';
import { RecentNumbers } from './recent-numbers.ts';
import type { TimeShare } from './time-share.ts';

/** The picker as others' requests reach it. */
export interface SharedPicker extends Witness {
  readonly pool: Pick<EndpointPool, 'get' | 'snapshot'>;
  readonly elsewhere: Pick<Elsewhere, 'book' | 'happenedAt' | 'events'>;
}

/** Requests whose end is known, in case a message from before comes late. */
const ENDED_MAX = 4096;

/** The least time between two questions to a replica, and between two answers. */
const ASK_MS: Millis = 1000;
const ANSWER_MS: Millis = 250;

/** A request of the peer. */
interface OpenElsewhere {
  readonly number: number;
  readonly prompt: PromptBlocks;
  /** Undefined where its endpoint is not known here, or denies it. */
  routed: RoutedRequest | undefined;
  /** The address of the endpoint that works on it. */
  address: string;
  /** Blocks that count for it, of the prompt as it was sent and as it is known now. */
  blocks: number;
}

/** What all peers share. */
export interface PeerParts {
  readonly picker: SharedPicker;
  readonly bookings: Bookings;
  readonly doubts: Doubts;
  /** In a block of this picker's own prompts; undefined before the first one. */
  readonly blockTokens: () => number | undefined;
  /** How much of the time its messages may take. */
  readonly time: TimeShare;
}

/** Counts since the first message of the peer. */
export interface PeerCounts extends BatchCounts {
  events: number;
  bytes: number;
  /** Requests whose endpoint is not known here. */
  unknownEndpoints: number;
  /** Requests beyond what a replica, or all of them together, may have open. */
  refused: number;
  /** Requests that did not count, because their endpoint denied those before. */
  doubted: number;
  /** Messages that were not read, because those before took too much time. */
  hurried: number;
}

/** What is known of one other replica, and its requests that are booked here. */
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
  readonly time: TimeShare;
  #receivedAt: Millis;
  #lagMs: Millis = 0;
  /** When it was last asked for what it has open. */
  #askedAt: Millis = Number.NEGATIVE_INFINITY;
  /** When it last got what is open here. */
  #answeredAt: Millis = Number.NEGATIVE_INFINITY;
  #waiting: FirstBand | undefined;
  readonly #picker: SharedPicker;
  readonly #parts: PeerParts;
  readonly #open = new InFlightMap<number, OpenElsewhere>((number) => number);
  readonly #ended = new RecentNumbers(ENDED_MAX);

  constructor(
    { id, boot }: { readonly id: string; readonly boot: number },
    parts: PeerParts,
    now: Millis,
  ) {
    this.id = id;
    this.boot = boot;
    this.time = parts.time;
    this.#picker = parts.picker;
    this.#parts = parts;
    this.#receivedAt = now;
  }

  get open(): number {
    return this.#open.size;
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

  /** Counts a message of any kind. */
  received(bytes: number, at: Millis, lagMs: Millis): void {
    this.counts.bytes += bytes;
    this.#receivedAt = at;
    this.#lagMs = lagMs;
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
    for (const entry of entries) {
      this.counts.events += 1;
      if (entry.kind === 'waiting') this.#waiting = entry;
      else if (entry.kind === 'routed') this.#routed(entry, origin + entry.afterMs);
      else if ('words' in entry) this.#prompt(entry);
      else this.#change(entry, origin + entry.afterMs);
    }
  }

  /** Releases what is booked in this range of numbers, from the first to before the last. */
  keepOnly(numbers: ReadonlySet<number>, from: number, to: number, now: Millis): void {
    for (const { number, routed } of Array.from(this.#open.values())) {
      if (number < from || number >= to || numbers.has(number)) continue;
      this.#end(number);
      this.#picker.elsewhere.happenedAt(now);
      routed?.done('aborted');
    }
  }

  /** Releases all that it has open where the peer is gone, or what it has booked at an address. */
  release(now: Millis, address?: string): void {
    const { elsewhere } = this.#picker;
    elsewhere.events(() => {
      if (address === undefined) return this.keepOnly(new Set(), 0, Number.POSITIVE_INFINITY, now);
      elsewhere.happenedAt(now);
      for (const open of this.#open.values()) if (open.address === address) this.#disbelieve(open);
    });
  }

  addClaims(claims: Map<string, number>): void {
    for (const { routed, address } of this.#open.values())
      if (routed !== undefined) claims.set(address, (claims.get(address) ?? 0) + 1);
  }

  #routed(entry: RoutedEntry, at: Millis): void {
    const { number, cachedTokens, load, firstTokenVisible } = entry;
    if (this.#open.get(number) !== undefined || this.#ended.has(number)) return;
    if (!this.#parts.bookings.takesRequest(this.#open.size)) {
      this.counts.refused += 1;
      return;
    }
    const prompt = this.#held(entry.prompt);
    const blocks = prompt.count;
    const { pool, elsewhere } = this.#picker;
    const endpoint = pool.get(entry.endpoint as EndpointId);
    if (endpoint === undefined) {
      this.counts.unknownEndpoints += 1;
      this.#open.set(number, { number, prompt, blocks, routed: undefined, address: '' });
      return;
    }
    const prefill = entry.prefill === undefined ? undefined : pool.get(entry.prefill as EndpointId);
    // Without a first token that is seen, nothing would say when the endpoint has it.
    const { address } = firstTokenVisible ? (prefill ?? endpoint) : endpoint;
    if (this.#isDoubted(endpoint.address) || this.#isDoubted(address)) {
      this.counts.doubted += 1;
      this.#open.set(number, { number, prompt, blocks, routed: undefined, address });
      return;
    }
    const request = peerRequest(this.id, entry, prompt);
    elsewhere.happenedAt(at);
    const booked = { number, request, endpoint, prefill, cachedTokens, load, firstTokenVisible };
    const routed = elsewhere.book(booked);
    this.#open.set(number, { number, prompt, blocks, routed, address });
  }

  #prompt({ kind, number, promptTokens, from, words: added, rest }: PromptEntry): void {
    const open = this.#open.get(number);
    if (open?.routed === undefined || from > open.prompt.count) return;
    const { routed, prompt } = open;
    const words = new Uint32Array(2 * from + added.length);
    words.set(prompt.words.subarray(0, 2 * from));
    words.set(added, 2 * from);
    const { blockTokens } = prompt;
    const whole = this.#held(promptOf(blockTokens, words, rest));
    open.blocks += whole.count;
    if (kind === 'answered') routed.answered(whole);
    else routed.bodyRead({ ...routed.request, promptTokens, prompt: whole });
  }

  #change(entry: ChangeEntry | DoneEntry, at: Millis): void {
    const open = this.#open.get(entry.number);
    if (entry.kind === 'done') this.#end(entry.number);
    if (open?.routed === undefined) return;
    const { routed } = open;
    this.#picker.elsewhere.happenedAt(at);
    if (entry.kind === 'done') routed.done(entry.outcome, entry.usage);
    else if (entry.kind === 'served') this.#served(open, routed, entry.address);
    else {
      open.address = routed.endpoint.address;
      routed.firstToken();
    }
  }

  #served(open: OpenElsewhere, routed: RoutedRequest, address: string): void {
    open.address = address;
    if (this.#isDoubted(address)) this.#disbelieve(open);
    else routed.served(address);
  }

  /** The request stays open, so that what is said of it later is known, and does not count. */
  #disbelieve(open: OpenElsewhere): void {
    this.counts.doubted += 1;
    open.routed?.done('aborted');
    open.routed = undefined;
  }

  #isDoubted(address: string): boolean {
    return this.#parts.doubts.isDoubted(this, address);
  }

  /** Blocks of another size cannot be compared with those of this picker's prompts. */
  #held(prompt: PromptBlocks): PromptBlocks {
    const blockTokens = this.#parts.blockTokens() ?? prompt.blockTokens;
    return prompt.blockTokens === blockTokens
      ? this.#parts.bookings.held(prompt)
      : { ...NO_BLOCKS, blockTokens };
  }

  /** Remembers the end, so that what comes late does not open the request again. */
  #end(number: number): void {
    const open = this.#open.delete(number);
    if (open !== undefined) this.#parts.bookings.release(open.blocks);
    this.#ended.add(number);
  }
}
