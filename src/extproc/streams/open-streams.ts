import { RoutingError, type RoutingErrorCode } from '../../framework/error.ts';
import type { Millis } from '../../framework/runtime.ts';
import { aboveEqualShare } from './equal-share.ts';
import { MemoryPool } from './memory-pool.ts';
import { RequestIds } from './request-ids.ts';
import { StreamAccount, type StreamOwner } from './stream-account.ts';
import { StreamsByAge } from './streams-by-age.ts';

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

/** All open streams: how many there may be, and one budget for the bytes that they keep. */
export class OpenStreams {
  readonly heldBytesMax: number;
  readonly streamsMax: number;
  /** The memory for what they keep. */
  readonly blocks: MemoryPool = new MemoryPool();
  readonly requestIds: RequestIds<StreamAccount> = new RequestIds();
  heldBytes = 0;
  readonly #byAge = new StreamsByAge<StreamAccount>();
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
    return this.#byAge.count;
  }

  usage(): StreamUsage {
    const { heldBytes, heldBytesMax, streamsMax } = this;
    return {
      openStreams: this.count,
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
    this.#byAge.add(account);
    this.#elsewhere?.note(this.count, this.heldBytes);
    return account;
  }

  /** Why a stream that has just opened must not stay; undefined if it may. */
  tooMany(): RoutingError | undefined {
    const others = this.#elsewhere?.openStreams() ?? 0;
    if (this.count + others <= this.streamsMax) return undefined;
    return new RoutingError(
      'too-many-streams',
      `this picker has ${this.streamsMax} requests open, as many as --max-streams allows: try again later`,
    );
  }

  remove(account: StreamAccount): void {
    this.#byAge.remove(account);
    this.#elsewhere?.note(this.count, this.heldBytes);
  }

  /** Calls `visit` for every stream, the newest first. It may refuse the stream. */
  forEachNewest(visit: (account: StreamAccount) => void): void {
    this.#byAge.forEachNewest(visit);
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
    // Each stream is read once: they lie in distant places of memory, so that reading one is slow.
    const accounts: StreamAccount[] = [];
    this.forEachNewest((account) => accounts.push(account));
    for (const { heldBytes, owner } of aboveEqualShare(accounts, goal)) {
      if (this.heldBytes <= goal) return;
      owner.refuse(this.#full(heldBytes));
    }
  }

  #heldElsewhere(): number {
    if (this.#elsewhere === undefined) return 0;
    this.#elsewhere.note(this.count, this.heldBytes);
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
