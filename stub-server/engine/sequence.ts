import type { Millis } from '../../src/framework/runtime.ts';
import type { Link } from './linked-list.ts';

/**
 * `length`: the cap was reached; `stop`: the model ended by itself; `abort`: the client went away; `error`: the engine
 * crashed or the transfer of its KV failed.
 */
export type FinishReason = 'length' | 'stop' | 'abort' | 'error';

export interface SequenceUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Prompt tokens found in the prefix cache when first scheduled. */
  readonly cachedTokens: number;
}

/** One request to generate, by size alone: what the tokens are plays no part in how long they take. */
export interface SequenceRequest {
  readonly promptTokens: number;
  /** When it came, where reading it took time; now unless said. */
  readonly arrivedAt?: Millis;
  /**
   * A chained hash for each full block, an integer of at most 53 bits: equal hashes stand for equal text from the
   * start. Beyond the prompt they name the blocks of the answer to come; blocks without a hash are never found again.
   */
  readonly blockHashes: ArrayLike<number>;
  /** At least 1. */
  readonly outputTokens: number;
  /** What to report when they have all come. `length` unless said. */
  readonly finishReason?: 'length' | 'stop';
  /** The tokens behind `blockHashes`, for whoever publishes them; the engine does not look at them. */
  readonly tokenIds?: ArrayLike<number> | undefined;
  readonly lora?: string | undefined;
  /** Lower goes first, under the priority policy. 0 unless said. */
  readonly priority?: number | undefined;
  /** The prefill leg of a disaggregated request: its blocks stay held after the end until `Submission.release`. */
  readonly holdBlocks?: boolean | undefined;
  /** The decode leg: the KV of the prompt comes from elsewhere. */
  readonly remote?: RemoteKv | undefined;
  /** The first token, in addition to `onToken`. */
  readonly onFirstToken?: (at: Millis) => void;
  /** After each step that gave this sequence a token: tokens so far, and when in model time. */
  readonly onToken?: (count: number, at: Millis) => void;
  /** Once, and last. */
  readonly onDone?: (reason: FinishReason, usage: SequenceUsage, at: Millis) => void;
}

/** KV that another engine has computed. Memory is taken before the transfer begins, as NIXL needs it. */
export interface RemoteKv {
  /** Prompt tokens that come; what is cached here already needs no transfer and is left out of `start`. */
  readonly tokens: number;
  /** Memory is there for `tokens` tokens. One of the two is to be called, once, at the end of the transfer. */
  readonly start: (tokens: number, ready: () => void, fail: () => void) => void;
}

/** A submitted request; aborting twice, or after the end, does nothing. */
export interface Submission {
  abort(): void;
  /** Gives back what `holdBlocks` has kept. Does nothing a second time, or where nothing is kept. */
  release(): void;
}

/** A request inside the engine. Only the engine changes it. Times not yet known are NaN, which keeps fields unboxed. */
export class Sequence {
  readonly request: SequenceRequest;
  readonly arrivedAt: Millis;
  /** Prompt (and, after preemption, already generated) tokens whose KV is there. */
  computedTokens = 0;
  /** What must be computed before the next token can come. */
  targetTokens: number;
  generatedTokens = 0;
  cachedTokens = 0;
  preemptions = 0;
  /** Blocks held, in order. */
  blocks: number[] = [];
  /** Of these, how many have a known content. */
  identifiedBlocks = 0;
  /** KV from elsewhere is on its way, or has come. */
  remoteKv: 'none' | 'coming' | 'here' = 'none';
  /** Tokens of its KV that came from elsewhere. */
  remoteTokens = 0;
  finished = false;
  aborted = false;
  /** Its places in the scheduler's lists, while it has them. */
  runningLink: Link<Sequence> | undefined = undefined;
  growthLink: Link<Sequence> | undefined = undefined;
  fillLink: Link<Sequence> | undefined = undefined;
  endLink: Link<Sequence> | undefined = undefined;
  listenLink: Link<Sequence> | undefined = undefined;
  /** Decode steps up to this one are in the counts. */
  settledStep = 0;
  /** The decode step that gives the last token. */
  lastStep = 0;
  scheduledAt: Millis = Number.NaN;
  firstTokenAt: Millis = Number.NaN;
  lastTokenAt: Millis = Number.NaN;

  constructor(request: SequenceRequest, arrivedAt: Millis) {
    this.request = request;
    this.arrivedAt = arrivedAt;
    this.targetTokens = request.promptTokens;
  }

  get usage(): SequenceUsage {
    return {
      promptTokens: this.request.promptTokens,
      completionTokens: this.generatedTokens,
      cachedTokens: this.cachedTokens,
    };
  }
}
