import { RoutingError, type RoutingErrorCode } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import { BlockPool } from './block-pool.ts';
import type { ByteAccount } from './byte-account.ts';
import { aboveEqualShare } from './equal-share.ts';
import { RequestIds } from './request-ids.ts';

/** What a stream does, as far as its limits depend on it. */
export type StreamPhase =
  /** The request's body comes chunk by chunk, and the pick waits for it. */
  | 'uploading'
  /** The request's body is gathered by the proxy, and the pick waits for it. */
  | 'gathering'
  /** The pick waits: for room, for a scheduler, or for another thread. */
  | 'waiting'
  /** The request has been picked for. */
  | 'picked'
  /** It was refused. Only its end is awaited. */
  | 'refused';

/** The stream behind an account. */
export interface StreamOwner {
  readonly phase: StreamPhase;
  /** Ends the request with an answer and lets go of its bytes; resets the stream if it cannot. */
  refuse(error: RoutingError): void;
  /** Ends the stream without an answer. */
  reset(): void;
  /** The server has broken off the answer; the stream’s end follows. */
  answerCut(): void;
}

/** One open stream: the bytes that it keeps, and its place in the list of all streams by age. */
export class StreamAccount implements ByteAccount {
  readonly owner: StreamOwner;
  readonly openedAt: Millis;
  older: StreamAccount | undefined;
  newer: StreamAccount | undefined;
  heldBytes = 0;
  /** All bytes that have come so far. */
  receivedBytes = 0;
  /** When an upload last went on, and how far it had come then; the watch over uploads keeps it. */
  progress: { readonly at: Millis; readonly bytes: number };
  /** When that watch first saw the stream refused. */
  refusedAt: Millis | undefined;
  /** The header `x-request-id` of its request, which a client may have chosen. */
  clientRequestId: string | undefined;
  nextAlike: StreamAccount | undefined;
  previousAlike: StreamAccount | undefined;
  readonly #streams: OpenStreams;
  #undelivered = 0;
  #closed = false;

  constructor(streams: OpenStreams, owner: StreamOwner, now: Millis) {
    this.#streams = streams;
    this.owner = owner;
    this.openedAt = now;
    this.progress = { at: now, bytes: 0 };
  }

  get blocks(): BlockPool {
    return this.#streams.blocks;
  }

  /** Bytes that have come, but in no message that was handed on. */
  get undeliveredBytes(): number {
    return this.#undelivered;
  }

  /** The headers of its request have come, with this `x-request-id`. */
  named(clientRequestId: string): void {
    if (this.#closed || this.clientRequestId !== undefined) return;
    this.clientRequestId = clientRequestId;
    this.#streams.requestIds.add(this);
  }

  /** Bytes have come from the transport. May refuse this stream or others. */
  received(bytes: number): void {
    this.receivedBytes += bytes;
    this.#undelivered += bytes;
    this.hold(bytes);
    this.#streams.keepBudget();
  }

  /** A message of so many bytes has been handed on. Compressed ones took fewer bytes to come. */
  delivered(bytes: number): void {
    const delivered = Math.min(bytes, this.#undelivered);
    this.#undelivered -= delivered;
    this.release(delivered);
  }

  /**
   * The transport keeps so many bytes more or less of what has come. May refuse this stream or
   * others.
   */
  kept(bytes: number): void {
    this.hold(bytes);
    if (bytes > 0) this.#streams.keepBudget();
  }

  hold(bytes: number): void {
    if (this.#closed) return;
    this.heldBytes += bytes;
    this.#streams.heldBytes += bytes;
  }

  release(bytes: number): void {
    // Answers that leave after their stream has closed were released with it.
    if (this.#closed) return;
    this.heldBytes -= bytes;
    this.#streams.heldBytes -= bytes;
  }

  /** The stream has closed: it keeps nothing. */
  close(): void {
    this.release(this.heldBytes);
    this.#closed = true;
    if (this.clientRequestId !== undefined) this.#streams.requestIds.remove(this);
    this.#streams.remove(this);
  }
}

/**
 * Where the budget is exceeded, so much of it is made free at once: more than a chunk, as each
 * search passes over all streams, and little, as each refusal takes 70 µs, for which all others
 * wait.
 */
const FREED_SHARE = 1 / 32;

/** What all streams of a server take, for its metrics. */
export interface StreamUsage {
  readonly openStreams: number;
  readonly streamsMax: number;
  readonly heldBytes: number;
  readonly heldBytesMax: number;
  /** Requests refused since the start, by the code of their error. */
  readonly refused: ReadonlyMap<RoutingErrorCode, number>;
}

/**
 * The codes of requests that are refused to stay within a limit of memory, streams or time. All
 * threads count these.
 */
export const LIMIT_REFUSALS: readonly RoutingErrorCode[] = [
  'memory-full',
  'too-many-streams',
  'upload-timeout',
  'shutting-down',
];

/** What the streams of other threads take of the same limits. */
export interface StreamsElsewhere {
  /** How many threads share the limits, with this one. */
  readonly threads: number;
  heldBytes(): number;
  openStreams(): number;
  /** Sends the other threads how many streams and bytes this thread has. */
  note(openStreams: number, heldBytes: number): void;
}

/** All open streams by age, and one budget for the bytes that they keep. */
export class OpenStreams {
  readonly heldBytesMax: number;
  readonly streamsMax: number;
  /** The memory for what they keep. */
  readonly blocks: BlockPool = new BlockPool();
  readonly requestIds: RequestIds<StreamAccount> = new RequestIds();
  heldBytes = 0;
  #newest: StreamAccount | undefined;
  #count = 0;
  readonly #elsewhere: StreamsElsewhere | undefined;
  readonly #refused = new Map<RoutingErrorCode, number>(LIMIT_REFUSALS.map((code) => [code, 0]));

  constructor(
    limits: { readonly heldBytesMax: number; readonly streamsMax: number },
    elsewhere?: StreamsElsewhere,
  ) {
    this.heldBytesMax = limits.heldBytesMax;
    this.streamsMax = limits.streamsMax;
    this.#elsewhere = elsewhere;
  }

  get count(): number {
    return this.#count;
  }

  usage(): StreamUsage {
    const { heldBytes, heldBytesMax, streamsMax } = this;
    return {
      openStreams: this.#count,
      streamsMax,
      heldBytes,
      heldBytesMax,
      refused: this.#refused,
    };
  }

  countRefusal(code: RoutingErrorCode): void {
    this.#refused.set(code, (this.#refused.get(code) ?? 0) + 1);
  }

  open(owner: StreamOwner, now: Millis): StreamAccount {
    const account = new StreamAccount(this, owner, now);
    account.older = this.#newest;
    if (this.#newest !== undefined) this.#newest.newer = account;
    this.#newest = account;
    this.#count += 1;
    this.#elsewhere?.note(this.#count, this.heldBytes);
    return account;
  }

  /** Why a stream that has just opened must not stay; undefined if it may. */
  tooMany(): RoutingError | undefined {
    const others = this.#elsewhere?.openStreams() ?? 0;
    if (this.#count + others <= this.streamsMax) return undefined;
    return new RoutingError(
      'too-many-streams',
      `this picker has ${this.streamsMax} requests open, as many as --max-streams allows: try again later`,
    );
  }

  remove(account: StreamAccount): void {
    const { older, newer } = account;
    if (older !== undefined) older.newer = newer;
    if (newer === undefined) this.#newest = older;
    else newer.older = older;
    // A closed stream that the collector has moved to the old generation would keep its neighbours
    // in the list alive.
    account.older = undefined;
    account.newer = undefined;
    this.#count -= 1;
    this.#elsewhere?.note(this.#count, this.heldBytes);
  }

  /** Calls `visit` for every stream, the newest first. It may refuse the stream. */
  forEachNewest(visit: (account: StreamAccount) => void): void {
    for (let account = this.#newest; account !== undefined; ) {
      const { older } = account;
      visit(account);
      account = older;
    }
  }

  /**
   * The server of the request with this `x-request-id` has broken off its answer. Where several
   * requests have the id, nothing says which.
   */
  answerCut(clientRequestId: string): void {
    this.requestIds.onlyOne(clientRequestId)?.owner.answerCut();
  }

  /**
   * Refuses the newest of the streams that keep more than an equal share, until the budget holds.
   * So small requests go on beside large ones. The oldest of the large ones comes last: it comes
   * to its end, however many begin after it. Where threads share the budget, each refuses its own,
   * and none where it keeps less than its equal part: then the others have to.
   */
  keepBudget(): void {
    const others = this.#heldElsewhere();
    if (this.heldBytes + others <= this.heldBytesMax) return;
    const whole = this.heldBytesMax * (1 - FREED_SHARE);
    const goal = Math.max(whole - others, whole / (this.#elsewhere?.threads ?? 1));
    if (this.heldBytes <= goal) return;
    // One look at each stream, which are all over the memory.
    const accounts: StreamAccount[] = [];
    this.forEachNewest((account) => accounts.push(account));
    for (const { heldBytes, owner } of aboveEqualShare(accounts, goal)) {
      if (this.heldBytes <= goal) return;
      owner.refuse(this.#full(heldBytes));
    }
  }

  #heldElsewhere(): number {
    if (this.#elsewhere === undefined) return 0;
    this.#elsewhere.note(this.#count, this.heldBytes);
    return this.#elsewhere.heldBytes();
  }

  #full(heldBytes: number): RoutingError {
    return new RoutingError(
      'memory-full',
      `this picker keeps ${this.heldBytesMax} bytes of bodies, as many as --max-held-bytes allows, ` +
        `and this request has ${heldBytes} of them: try again later`,
    );
  }
}
