import type { Millis } from '../../src/framework/runtime.ts';
import type { EncodedItem } from './encoder.ts';
import type { BlockChain, CachedSequence, RemoteKv } from './kv-cache/cached-sequence.ts';
import type { Link } from './linked-list.ts';

/** In this order: reached its cap, ended by the model, client left, crash or failed transfer. */
export type FinishReason = 'length' | 'stop' | 'abort' | 'error';

export interface SequenceUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** Prompt tokens found in the prefix cache when the sequence was first scheduled. */
  readonly cachedTokens: number;
}

/** One request to generate. Only its size matters: the content of tokens does not affect timing. */
export interface SequenceRequest extends BlockChain {
  readonly promptTokens: number;
  /** Arrival time; the time of `submit` by default. Earlier where reading the request took time. */
  readonly arrivedAt?: Millis;
  readonly outputTokens: number;
  readonly finishReason?: 'length' | 'stop';
  /** Images, videos and sounds of the prompt, which the encoder computes first. */
  readonly media?: readonly EncodedItem[] | undefined;
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

/** A submitted request. A second call of a method, or `abort` after the end, does nothing. */
export interface Submission {
  abort(): void;
  /** Releases the blocks that `holdBlocks` has kept, if there are any. */
  release(): void;
}

/**
 * A request inside the engine. Each group of fields is changed only by the class that is named above
 * it; those without a name, by the methods here. Unknown times are NaN, to stay unboxed.
 */
export class Sequence implements CachedSequence {
  readonly request: SequenceRequest;
  readonly arrivedAt: Millis;
  /** Tokens that must have KV before the next token can come. */
  targetTokens: number;
  generatedTokens = 0;
  cachedTokens = 0;
  scheduledAt: Millis = Number.NaN;
  firstTokenAt: Millis = Number.NaN;
  lastTokenAt: Millis = Number.NaN;

  // KvCache. The steps of an engine add to `computedTokens`.
  /** Tokens with KV: of the prompt and, after a preemption, of the answer so far. */
  computedTokens = 0;
  blocks: number[] = [];
  /** Number of leading blocks with known content. */
  identifiedBlocks = 0;
  /** Above 0 once it was preempted where engines name the blocks that have no hash. */
  ownName = 0;
  /** Where KV comes from before the sequence is computed: another engine or host memory. */
  remote: RemoteKv | undefined;

  // Admission.
  remoteKv: 'none' | 'coming' | 'here' = 'none';
  /** Prompt tokens whose KV came from elsewhere when the sequence was first scheduled. */
  remoteTokens = 0;
  preemptions = 0;
  finished = false;

  // Scheduler, and the lists in which it keeps sequences: RunningBatch and the decode sets.
  aborted = false;
  /** Its entry in the scheduler's running list, while it has one. */
  runningLink: Link<Sequence> | undefined = undefined;
  /** Its entries in the lists of its decode set; empty while it does not decode. */
  readonly decodeLinks: Link<Sequence>[] = [];
  /** The counts include decode steps before this one. */
  settledStep = 0;
  /** The decode step that gives the last token. */
  lastStep = 0;

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

  get outcome(): FinishReason {
    return this.request.finishReason ?? 'length';
  }

  /** None after a preemption: the sequence then computes KV that was transferred, as in vLLM. */
  get peerKv(): RemoteKv | undefined {
    return this.preemptions === 0 ? this.request.remote : undefined;
  }

  /** Whether its KV comes from another engine, and not from host memory. */
  get isFromPeer(): boolean {
    return this.remote !== undefined && this.remote === this.request.remote;
  }

  /** Leading tokens that have KV once the transfer is done. */
  get tokensWithRemote(): number {
    return Math.min(this.remote?.tokens ?? 0, this.targetTokens);
  }

  /** Notes when it was first scheduled, and how much had KV then. */
  scheduled(at: Millis): void {
    if (!Number.isNaN(this.scheduledAt)) return;
    this.scheduledAt = at;
    this.cachedTokens = this.computedTokens;
  }

  /** Counts the next token and passes it on. The KV that gave it is counted already. */
  giveToken(at: Millis): void {
    const { request } = this;
    this.generatedTokens += 1;
    this.targetTokens += 1;
    this.lastTokenAt = at;
    if (this.generatedTokens === 1) {
      this.firstTokenAt = at;
      request.onFirstToken?.(at);
    }
    request.onToken?.(this.generatedTokens, at);
  }

  /** Counts `tokens` of decode steps, the last of which was at `at`. It passes nothing on. */
  decoded(tokens: number, at: Millis): void {
    this.computedTokens += tokens;
    this.targetTokens += tokens;
    this.generatedTokens += tokens;
    this.lastTokenAt = at;
  }

  leaveDecodeLists(): void {
    for (const link of this.decodeLinks) link.leave();
    this.decodeLinks.length = 0;
  }
}
