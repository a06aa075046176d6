import type { Millis } from '../../src/framework/runtime.ts';
import type { Link } from './linked-list.ts';

/**
 * Why a sequence has ended. `length`: it has reached its cap; `stop`: the model ended it; `abort`:
 * the client has disconnected; `error`: the engine has crashed or the transfer of its KV has
 * failed.
 */
export type FinishReason = 'length' | 'stop' | 'abort' | 'error';

export interface SequenceUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Prompt tokens found in the prefix cache when the sequence was first scheduled. */
  readonly cachedTokens: number;
}

/** One request to generate. Only its size matters: the content of tokens does not affect timing. */
export interface SequenceRequest {
  readonly promptTokens: number;
  /** Arrival time; the time of `submit` by default. Earlier where reading the request took time. */
  readonly arrivedAt?: Millis;
  /**
   * A chained hash for each full block, an integer of at most 53 bits: equal hashes mean equal text
   * from the start. Hashes beyond the prompt name the blocks of the answer. A block without a hash
   * cannot be found again.
   */
  readonly blockHashes: ArrayLike<number>;
  /** At least 1. */
  readonly outputTokens: number;
  /** Reported after the last token; `length` by default. */
  readonly finishReason?: 'length' | 'stop';
  /** The tokens behind `blockHashes`, for KV events. The engine does not read them. */
  readonly tokenIds?: ArrayLike<number> | undefined;
  readonly lora?: string | undefined;
  /** The lowest goes first under the priority policy; 0 by default. */
  readonly priority?: number | undefined;
  /** True for a prefill leg: its blocks stay held after the end, until `Submission.release`. */
  readonly holdBlocks?: boolean | undefined;
  /** Set for a decode leg: another engine provides the KV of the prompt. */
  readonly remote?: RemoteKv | undefined;
  /** Called once for the first token, before `onToken`. */
  readonly onFirstToken?: (at: Millis) => void;
  /** Called after each step that gave tokens: the tokens so far, and the model time. */
  readonly onToken?: (count: number, at: Millis) => void;
  /** Called once, after all other callbacks. */
  readonly onDone?: (reason: FinishReason, usage: SequenceUsage, at: Millis) => void;
}

/** KV that another engine computes. Its memory is taken before the transfer, as in NIXL. */
export interface RemoteKv {
  /** Prompt tokens whose KV is provided. */
  readonly tokens: number;
  /**
   * Starts the transfer of `tokens` tokens, without those cached here, once their memory is taken.
   * The callee calls `ready` or `fail` once, at the end of the transfer.
   */
  readonly start: (tokens: number, ready: () => void, fail: () => void) => void;
}

/** A submitted request. A second call of a method, or `abort` after the end, does nothing. */
export interface Submission {
  abort(): void;
  /** Releases the blocks that `holdBlocks` has kept, if there are any. */
  release(): void;
}

/** A request inside the engine, which alone changes it. Unknown times are NaN, to stay unboxed. */
export class Sequence {
  readonly request: SequenceRequest;
  readonly arrivedAt: Millis;
  /** Tokens with KV: of the prompt and, after a preemption, of the answer so far. */
  computedTokens = 0;
  /** Tokens that must have KV before the next token can come. */
  targetTokens: number;
  generatedTokens = 0;
  cachedTokens = 0;
  preemptions = 0;
  /** Held blocks, in order. */
  blocks: number[] = [];
  /** Number of leading blocks with known content. */
  identifiedBlocks = 0;
  /** State of the KV from another engine. */
  remoteKv: 'none' | 'coming' | 'here' = 'none';
  /** Tokens whose KV another engine has computed. */
  remoteTokens = 0;
  finished = false;
  aborted = false;
  /** Its entry in the scheduler's running list, while it has one. */
  runningLink: Link<Sequence> | undefined = undefined;
  /** Its entries in the lists of its decode set; empty while it does not decode. */
  readonly decodeLinks: Link<Sequence>[] = [];
  /** The counts include decode steps before this one. */
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

  /** How the sequence ends after its last token. */
  get outcome(): FinishReason {
    return this.request.finishReason ?? 'length';
  }

  /** False after a preemption: the sequence then computes KV that was transferred, as in vLLM. */
  get needsRemoteKv(): boolean {
    const { request, remoteKv, preemptions } = this;
    return request.remote !== undefined && remoteKv === 'none' && preemptions === 0;
  }

  /** Prompt tokens whose KV another engine provides. */
  get remotePromptTokens(): number {
    return Math.min(this.request.remote?.tokens ?? 0, this.request.promptTokens);
  }

  leaveDecodeLists(): void {
    for (const link of this.decodeLinks) link.leave();
    this.decodeLinks.length = 0;
  }
}
