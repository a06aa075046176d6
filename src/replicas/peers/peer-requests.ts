import type { Endpoint, EndpointId } from '../../framework/endpoint.ts';
import { blockCount, NO_BLOCKS, type PromptBlocks } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Millis } from '../../framework/runtime.ts';
import { InFlightMap } from '../../framework/values/in-flight-map.ts';
import type { Elsewhere, RequestElsewhere } from '../../picker/cycles/elsewhere.ts';
import type { RequestEnding } from '../../picker/cycles/ended-request.ts';
import type { EndpointPool } from '../../picker/pool/endpoint-pool.ts';
import type { ChangeEntry, DoneEntry, PromptEntry, RoutedEntry } from '../messages/entries.ts';
import { promptOf } from '../messages/prompt-words.ts';
import type { Bookings } from './bookings.ts';
import type { KnownLoads } from './doubts.ts';
import { peerRequest } from './peer-request.ts';
import { RecentNumbers } from './recent-numbers.ts';

/** The picker as others' requests reach it. */
export interface SharedPicker extends KnownLoads {
  readonly pool: Pick<EndpointPool, 'get' | 'snapshot'>;
  readonly elsewhere: Pick<Elsewhere, 'book' | 'ended' | 'happenedAt' | 'events'>;
}

/** Requests whose end is known, in case a message from before comes late. */
const ENDED_MAX = 4096;

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

interface Places {
  readonly endpoint: Endpoint | undefined;
  readonly prefill: Endpoint | undefined;
  readonly address: string;
}

export interface RequestCounts {
  /** Requests whose endpoint is not known here. */
  unknownEndpoints: number;
  /** Requests beyond what a replica, or all of them together, may have open. */
  refused: number;
  /** Requests that did not count, because their endpoint denied those before. */
  doubted: number;
}

interface PeerRequestsParts {
  readonly peerId: string;
  readonly picker: SharedPicker;
  readonly bookings: Bookings;
  /** In a block of this picker's own prompts; undefined before the first one. */
  readonly blockTokens: () => number | undefined;
  /** Whether what this peer says of requests at the address is doubted. */
  readonly isDoubted: (address: string) => boolean;
  readonly counts: RequestCounts;
  /** How long a message about a request may take. */
  readonly messageDelayMs: () => Millis;
}

/** The requests of one other replica, which are booked here. */
export class PeerRequests {
  readonly #parts: PeerRequestsParts;
  readonly #open = new InFlightMap<number, OpenElsewhere>((number) => number);
  readonly #ended = new RecentNumbers(ENDED_MAX);

  constructor(parts: PeerRequestsParts) {
    this.#parts = parts;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Books a request that the peer has routed, at the time `at`. */
  routed(entry: RoutedEntry, at: Millis): void {
    const { number } = entry;
    if (this.isKnown(number)) return;
    if (!this.#parts.bookings.takesRequest(this.#open.size)) {
      this.#parts.counts.refused += 1;
      return;
    }
    const prompt = this.#held(entry.prompt);
    const blocks = blockCount(prompt);
    const places = this.#placesOf(entry);
    const { address } = places;
    let routed: RoutedRequest | undefined;
    if (places.endpoint !== undefined) {
      const { elsewhere } = this.#parts.picker;
      elsewhere.happenedAt(at);
      routed = elsewhere.book(this.#requestOf(entry, prompt, places.endpoint, places.prefill));
    }
    this.#open.set(number, { number, prompt, blocks, routed, address });
  }

  /** Takes a request that is not known, and has ended by now: nothing of it stays. */
  ended(entry: RoutedEntry, at: Millis, ending: RequestEnding): void {
    const { endpoint, prefill } = this.#placesOf(entry);
    if (endpoint === undefined) return;
    const prompt = this.#comparable(entry.prompt);
    const { elsewhere } = this.#parts.picker;
    elsewhere.happenedAt(at);
    elsewhere.ended(this.#requestOf(entry, prompt, endpoint, prefill), ending);
  }

  /** It is open, or has ended. */
  isKnown(number: number): boolean {
    return this.#open.get(number) !== undefined || this.#ended.has(number);
  }

  /**
   * Where the request is, and the address that works on it first; no endpoint where that is not
   * known here, or denies what the peer says. That is counted.
   */
  #placesOf(entry: RoutedEntry): Places {
    const { pool } = this.#parts.picker;
    const endpoint = pool.get(entry.endpoint as EndpointId);
    if (endpoint === undefined) {
      this.#parts.counts.unknownEndpoints += 1;
      return { endpoint, prefill: undefined, address: '' };
    }
    const prefill = entry.prefill === undefined ? undefined : pool.get(entry.prefill as EndpointId);
    // Without a first token that is seen, nothing would say when the endpoint has it.
    const { address } = entry.firstTokenVisible ? (prefill ?? endpoint) : endpoint;
    if (this.#parts.isDoubted(endpoint.address) || this.#parts.isDoubted(address)) {
      this.#parts.counts.doubted += 1;
      return { endpoint: undefined, prefill: undefined, address };
    }
    return { endpoint, prefill, address };
  }

  #requestOf(
    entry: RoutedEntry,
    prompt: PromptBlocks,
    endpoint: Endpoint,
    prefill: Endpoint | undefined,
  ): RequestElsewhere {
    const { number, cachedTokens, load, firstTokenVisible } = entry;
    const request = peerRequest(this.#parts.peerId, entry, prompt);
    const messageDelayMs = this.#parts.messageDelayMs();
    return {
      number,
      request,
      endpoint,
      prefill,
      cachedTokens,
      load,
      firstTokenVisible,
      messageDelayMs,
    };
  }

  /** Takes what a prompt or an answer has become. */
  prompt({ kind, number, promptTokens, from, words: added, tail }: PromptEntry): void {
    const open = this.#open.get(number);
    if (open?.routed === undefined || from > open.prompt.count) return;
    const { routed, prompt } = open;
    const words = new Uint32Array(2 * from + added.length);
    words.set(prompt.words.subarray(0, 2 * from));
    words.set(added, 2 * from);
    const { blockTokens } = prompt;
    const whole = this.#held(promptOf(blockTokens, words, tail));
    open.blocks += blockCount(whole);
    if (kind === 'answered') routed.answered(whole);
    else routed.bodyRead({ ...routed.request, promptTokens, prompt: whole });
  }

  /** Takes a first token, a move to another server, or the end of a request. */
  change(entry: ChangeEntry | DoneEntry, at: Millis): void {
    const open = this.#open.get(entry.number);
    if (entry.kind === 'done') this.#end(entry.number);
    if (open?.routed === undefined) return;
    const { routed } = open;
    this.#parts.picker.elsewhere.happenedAt(at);
    if (entry.kind === 'done') routed.done(entry.outcome, entry.usage);
    else if (entry.kind === 'served') this.#served(open, routed, entry.address);
    else {
      open.address = routed.endpoint.address;
      routed.firstToken();
    }
  }

  /** Releases what is booked in this range of numbers, from the first to before the last. */
  keepOnly(numbers: ReadonlySet<number>, from: number, to: number, now: Millis): void {
    for (const { number, routed } of Array.from(this.#open.values())) {
      if (number < from || number >= to || numbers.has(number)) continue;
      this.#end(number);
      this.#parts.picker.elsewhere.happenedAt(now);
      routed?.done('aborted');
    }
  }

  /** Releases all, where the peer is gone. */
  releaseAll(now: Millis): void {
    this.keepOnly(new Set(), 0, Number.POSITIVE_INFINITY, now);
  }

  /** Releases what is booked at an address. It stays open, and does not count any more. */
  releaseAt(address: string): void {
    for (const open of this.#open.values()) if (open.address === address) this.#disbelieve(open);
  }

  addClaims(claims: Map<string, number>): void {
    for (const { routed, address } of this.#open.values())
      if (routed !== undefined) claims.set(address, (claims.get(address) ?? 0) + 1);
  }

  #served(open: OpenElsewhere, routed: RoutedRequest, address: string): void {
    open.address = address;
    if (this.#parts.isDoubted(address)) this.#disbelieve(open);
    else routed.served(address);
  }

  /** The request stays open, so that what is said of it later is known, and does not count. */
  #disbelieve(open: OpenElsewhere): void {
    this.#parts.counts.doubted += 1;
    open.routed?.done('aborted');
    open.routed = undefined;
  }

  /** Blocks of another size cannot be compared with those of this picker's prompts. */
  #comparable(prompt: PromptBlocks): PromptBlocks {
    const blockTokens = this.#parts.blockTokens() ?? prompt.blockTokens;
    return prompt.blockTokens === blockTokens ? prompt : { ...NO_BLOCKS, blockTokens };
  }

  #held(prompt: PromptBlocks): PromptBlocks {
    return this.#parts.bookings.held(this.#comparable(prompt));
  }

  /** Remembers the end, so that what comes late does not open the request again. */
  #end(number: number): void {
    const open = this.#open.delete(number);
    if (open !== undefined) this.#parts.bookings.release(open.blocks);
    this.#ended.add(number);
  }
}
