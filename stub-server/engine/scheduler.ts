import type { Millis } from '../../src/framework/runtime.ts';
import { Admission } from './admission.ts';
import type { Encoder } from './encoder.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { KvCache } from './kv-cache/kv-cache.ts';
import { RunningBatch, type RunningBatchOptions } from './running-batch.ts';
import type { FinishReason, Sequence } from './sequence.ts';
import { StepPlan } from './step-plan.ts';

export interface SchedulerOptions extends RunningBatchOptions {
  /** Maximum tokens computed in a step; longer prompts are split. At least `sequencesMax`. */
  readonly batchedTokensMax: number;
  readonly sequencesMax: number;
  readonly kv: KvCache;
  readonly observer: EngineObserver;
  /** Encodes media; without one they cost nothing. */
  readonly encoder?: Encoder | undefined;
  /**
   * Called when memory for `tokens` tokens of remote KV is taken; `admission.arrived` or
   * `remoteFailed` must follow.
   */
  readonly onRemote: (sequence: Sequence, tokens: number) => void;
  /** Called when a request has ended, after the observer. */
  readonly onFinished: (sequence: Sequence, reason: FinishReason, at: Millis) => void;
}

/**
 * The scheduler of vLLM V1, without a clock. `plan` gives running sequences a token or a chunk of
 * prompt, then admits waiting ones while budget and memory last. Without memory, the last running
 * sequence is preempted and computed again later.
 */
export class Scheduler {
  readonly admission: Admission;
  readonly running: RunningBatch;
  readonly #options: SchedulerOptions;
  readonly #aborted: Sequence[] = [];
  readonly #plan = new StepPlan();
  /** Whether the step that is planned now has preempted a sequence. */
  #preempted = false;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.admission = new Admission({
      ...options,
      receive: options.onRemote,
      skipsEmptyTransfers: true,
    });
    this.running = new RunningBatch(options.kv.blockTokens, options);
  }

  /** Plans a step and takes its memory; undefined without work. Valid until the next call. */
  plan(at: Millis): Readonly<StepPlan> | undefined {
    this.#endAborted(at);
    const plan = this.#plan;
    const { decoding } = this.running;
    plan.reset();
    decoding.beginStep();
    this.#preempted = false;
    this.#growDecoding(at);
    const { count, draftTokens } = decoding;
    const budget = Math.max(0, this.#options.batchedTokensMax - count - draftTokens);
    const left = this.#continuePrefills(budget, at);
    // Memory taken from a preempted sequence is not given to a new one, unless nothing runs now:
    // the preempted one may need memory that a waiting one holds until it has run.
    if (!this.#preempted || this.running.size === 0) this.#admitWaiting(left, at);
    plan.decodeSequences = decoding.count;
    plan.contextTokens = decoding.contextTokens;
    plan.draftTokens = decoding.draftTokens;
    return plan.decodeSequences + plan.prefillSequences > 0 ? plan : undefined;
  }

  /** Completes the planned step: its sequences get their tokens. */
  complete(durationMs: Millis, at: Millis): void {
    this.#endAborted(at);
    const { decoding } = this.running;
    // Sequences aborted during the step get no token from it.
    this.#plan.decodeSequences = decoding.count;
    decoding.advance(at);
    this.#plan.acceptedTokens = decoding.acceptedTokens;
    this.#options.observer.onStep(this.#plan, durationMs, at);
    decoding.notify(at);
    decoding.takeEnded((sequence) => this.#end(sequence, sequence.outcome, at));
    this.#plan.forEachChunk((sequence, tokens) => this.#chunkDone(sequence, tokens, at));
  }

  /** Takes effect at the next start or end of a step, as in vLLM. */
  abort(sequence: Sequence): void {
    if (sequence.finished || sequence.aborted) return;
    sequence.aborted = true;
    this.#aborted.push(sequence);
  }

  /** Ends the request whose transfer of remote KV has failed, if it still waits for it. */
  remoteFailed(sequence: Sequence, at: Millis): void {
    if (this.admission.isReceiving(sequence)) this.fail(sequence, at);
  }

  /** Ends a request with `error`, also one that is not in the queue yet. */
  fail(sequence: Sequence, at: Millis): void {
    this.#end(sequence, 'error', at);
  }

  /** Ends all requests with `error`, as a crash does. */
  failAll(at: Millis): void {
    for (const sequence of this.running) this.fail(sequence, at);
    for (const sequence of this.admission.takeAll()) this.fail(sequence, at);
    this.#aborted.length = 0;
    this.#plan.dropChunks();
  }

  /** Takes memory for the next tokens of decoding sequences. */
  #growDecoding(at: Millis): void {
    const { decoding } = this.running;
    for (let link = decoding.growing.first; link !== undefined; link = link.next) {
      const { item } = link;
      // Preempted by this loop: it has left the list, and its `next` is still valid.
      if (!decoding.has(item)) continue;
      decoding.settle(item);
      this.#extend(item, decoding.tokensOf(item), at);
    }
    for (const sequence of decoding.filling) {
      decoding.settle(sequence);
      this.#options.kv.extend(sequence, 1);
    }
  }

  /** Adds the next chunks of incomplete prompts. Returns the budget that is left. */
  #continuePrefills(budget: number, at: Millis): number {
    const { prefilling } = this.running;
    let left = budget;
    for (let index = 0; index < prefilling.length && left > 0; index++) {
      const sequence = prefilling[index] as Sequence;
      const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, left);
      this.#extend(sequence, tokens, at);
      if (sequence.runningLink === undefined) continue;
      this.#plan.addChunk(sequence, tokens);
      left -= tokens;
    }
    return left;
  }

  /** Takes memory for `tokens` more, by preemption if need be, at last of the sequence itself. */
  #extend(sequence: Sequence, tokens: number, at: Millis): void {
    while (!this.#options.kv.extend(sequence, tokens)) {
      if (this.#preemptFor(sequence, at) === sequence) return;
    }
  }

  #admitWaiting(budget: number, at: Millis): void {
    const { sequencesMax } = this.#options;
    let left = budget;
    this.admission.admit(
      () => (this.running.size < sequencesMax ? left : 0),
      (sequence, tokens) => {
        this.#start(sequence, tokens, at);
        left -= tokens;
      },
    );
  }

  #start(sequence: Sequence, tokens: number, at: Millis): void {
    const { media } = sequence.request;
    this.#plan.loadMs += this.running.add(sequence);
    if (media !== undefined) {
      this.#plan.loadMs += this.#options.encoder?.encode(media, sequence.computedTokens) ?? 0;
    }
    sequence.scheduled(at);
    this.#options.observer.onScheduled(sequence, at);
    this.#plan.addChunk(sequence, tokens);
  }

  #chunkDone(sequence: Sequence, tokens: number, at: Millis): void {
    sequence.computedTokens += tokens;
    if (sequence.computedTokens < sequence.targetTokens) return;
    this.#options.observer.onPrefilled(sequence, at);
    sequence.giveToken(at);
    if (sequence.generatedTokens >= sequence.request.outputTokens) {
      this.#end(sequence, sequence.outcome, at);
    } else this.running.decode(sequence);
  }

  /** Moves the last running sequence, or the least urgent one, back to the queue and returns it. */
  #preemptFor(sequence: Sequence, at: Millis): Sequence {
    const { victim = sequence } = this.running;
    this.#plan.removeChunk(victim);
    this.running.remove(victim);
    this.admission.preempt(victim, at);
    this.#preempted = true;
    return victim;
  }

  #endAborted(at: Millis): void {
    while (this.#aborted.length > 0) {
      const sequence = this.#aborted.shift() as Sequence;
      if (!sequence.finished) this.#end(sequence, 'abort', at);
    }
  }

  #end(sequence: Sequence, reason: FinishReason, at: Millis): void {
    if (sequence.runningLink === undefined) this.admission.leave(sequence);
    else this.running.remove(sequence);
    this.admission.end(sequence, reason, at);
    this.#options.onFinished(sequence, reason, at);
  }
}
