import type { Millis } from '../../src/framework/runtime.ts';
import type { Encoder } from './encoder.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { KvCache } from './kv-cache.ts';
import { RunningBatch, type RunningBatchOptions } from './running-batch.ts';
import type { FinishReason, Sequence } from './sequence.ts';
import { StepPlan } from './step-plan.ts';
import { WaitingQueue } from './waiting-queue.ts';

export interface SchedulerOptions extends RunningBatchOptions {
  /** Maximum tokens computed in a step; longer prompts are split. At least `sequencesMax`. */
  readonly batchedTokensMax: number;
  readonly sequencesMax: number;
  readonly kv: KvCache;
  readonly observer: EngineObserver;
  /** Encodes media; without one they cost nothing. */
  readonly encoder?: Encoder | undefined;
  /**
   * Called when memory for `tokens` tokens of remote KV is taken; `remoteArrived` or `remoteFailed`
   * must follow.
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
  readonly waiting: WaitingQueue;
  readonly running: RunningBatch;
  readonly #options: SchedulerOptions;
  readonly #aborted: Sequence[] = [];
  /** Sequences whose remote KV is on its way. They hold memory and are not in the queue. */
  readonly #receiving = new Set<Sequence>();
  readonly #plan = new StepPlan();

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.waiting = new WaitingQueue(options.policy);
    this.running = new RunningBatch(options.kv.blockTokens, options);
  }

  /** Sequences that wait to be admitted or for remote KV. */
  get waitingCount(): number {
    return this.waiting.length + this.#receiving.size;
  }

  /** Plans a step and takes its memory; undefined without work. Valid until the next call. */
  plan(at: Millis): Readonly<StepPlan> | undefined {
    this.#endAborted(at);
    const plan = this.#plan;
    const { decoding } = this.running;
    plan.reset();
    decoding.beginStep();
    const preempted = this.#growDecoding(at);
    const { count, draftTokens } = decoding;
    const budget = Math.max(0, this.#options.batchedTokensMax - count - draftTokens);
    const left = this.#continuePrefills(budget, at);
    // Memory taken from a preempted sequence is not given to a new one.
    if (!preempted && left >= 0) this.#admitWaiting(left, at);
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
    if (this.#receiving.has(sequence)) this.fail(sequence, at);
  }

  /** Ends the wait for remote KV, which is here now. */
  remoteArrived(sequence: Sequence): void {
    if (!this.#receiving.delete(sequence)) return;
    sequence.remoteKv = 'here';
    this.#options.kv.arrived(sequence, sequence.tokensWithRemote);
    this.waiting.pushBack(sequence);
  }

  /** Ends a request with `error`, also one that is not in the queue yet. */
  fail(sequence: Sequence, at: Millis): void {
    this.#end(sequence, 'error', at);
  }

  /** Ends all requests with `error`, as a crash does. */
  failAll(at: Millis): void {
    for (const sequence of this.running) this.fail(sequence, at);
    for (const sequence of this.waiting.takeAll()) this.fail(sequence, at);
    for (const sequence of this.#receiving) this.fail(sequence, at);
    this.#aborted.length = 0;
    this.#plan.dropChunks();
  }

  /** Takes memory for the next tokens of decoding sequences. Returns whether it preempted one. */
  #growDecoding(at: Millis): boolean {
    const { decoding } = this.running;
    let preempted = false;
    for (let link = decoding.growing.first; link !== undefined; link = link.next) {
      const { item } = link;
      // Preempted by this loop: it has left the list, and its `next` is still valid.
      if (!decoding.has(item)) continue;
      decoding.settle(item);
      if (!this.#extend(item, decoding.tokensOf(item), at)) preempted = true;
    }
    for (const sequence of decoding.filling) {
      decoding.settle(sequence);
      this.#options.kv.extend(sequence, 1);
    }
    return preempted;
  }

  /** Adds the next chunks of incomplete prompts. Returns the budget left; -1 after a preemption. */
  #continuePrefills(budget: number, at: Millis): number {
    const { prefilling } = this.running;
    let left = budget;
    let preempted = false;
    for (let index = 0; index < prefilling.length && left > 0; index++) {
      const sequence = prefilling[index] as Sequence;
      const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, left);
      if (!this.#extend(sequence, tokens, at)) preempted = true;
      if (sequence.runningLink === undefined) continue;
      this.#plan.addChunk(sequence, tokens);
      left -= tokens;
    }
    return preempted ? -1 : left;
  }

  /** Takes memory for `tokens` more, by preemption if need be. Returns whether none was needed. */
  #extend(sequence: Sequence, tokens: number, at: Millis): boolean {
    if (this.#options.kv.extend(sequence, tokens)) return true;
    while (this.#preemptFor(sequence, at) !== sequence) {
      if (this.#options.kv.extend(sequence, tokens)) break;
    }
    return false;
  }

  #admitWaiting(budget: number, at: Millis): void {
    const { sequencesMax, loras } = this.#options;
    let left = budget;
    let index = 0;
    while (left > 0 && this.running.size < sequencesMax) {
      const sequence = this.waiting.at(index);
      if (sequence === undefined) return;
      if (!loras.admits(sequence.request.lora)) {
        index += 1;
        continue;
      }
      if (this.#options.kv.chooseRemote(sequence)) {
        if (!this.#beginRemote(sequence, index)) return;
        continue;
      }
      const tokens = this.#admit(sequence, left);
      if (tokens === 0) return;
      this.waiting.removeAt(index);
      this.#start(sequence, tokens, at);
      left -= tokens;
    }
  }

  /** Takes memory for the first chunk and returns its tokens; 0 without enough memory. */
  #admit(sequence: Sequence, budget: number): number {
    const { kv } = this.#options;
    if (sequence.remoteKv !== 'here') return kv.admit(sequence, budget);
    const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, budget);
    return kv.extend(sequence, tokens) ? tokens : 0;
  }

  #start(sequence: Sequence, tokens: number, at: Millis): void {
    const { media } = sequence.request;
    this.#plan.loadMs += this.running.add(sequence);
    if (media !== undefined) {
      this.#plan.loadMs += this.#options.encoder?.encode(media, sequence.computedTokens) ?? 0;
    }
    if (Number.isNaN(sequence.scheduledAt)) {
      sequence.scheduledAt = at;
      sequence.cachedTokens = sequence.computedTokens;
    }
    this.#options.observer.onScheduled(sequence, at);
    this.#plan.addChunk(sequence, tokens);
  }

  /** Takes memory for remote KV and starts its transfer. Returns false without enough memory. */
  #beginRemote(sequence: Sequence, index: number): boolean {
    const missing = this.#options.kv.admitRemote(sequence, sequence.tokensWithRemote);
    if (missing < 0) return false;
    if (Number.isNaN(sequence.scheduledAt)) sequence.remoteTokens = missing;
    if (missing === 0) {
      sequence.remoteKv = 'here';
      return true;
    }
    sequence.remoteKv = 'coming';
    this.waiting.removeAt(index);
    this.#receiving.add(sequence);
    this.#options.onRemote(sequence, missing);
    return true;
  }

  #chunkDone(sequence: Sequence, tokens: number, at: Millis): void {
    sequence.computedTokens += tokens;
    if (sequence.computedTokens < sequence.targetTokens) return;
    const { request } = sequence;
    sequence.generatedTokens += 1;
    sequence.targetTokens += 1;
    if (sequence.generatedTokens === 1) sequence.firstTokenAt = at;
    this.#options.observer.onPrefilled(sequence, at);
    sequence.lastTokenAt = at;
    if (sequence.generatedTokens === 1) request.onFirstToken?.(at);
    request.onToken?.(sequence.generatedTokens, at);
    if (sequence.generatedTokens >= request.outputTokens) {
      this.#end(sequence, sequence.outcome, at);
    } else this.running.decode(sequence);
  }

  /** Moves the last running sequence, or the least urgent one, back to the queue and returns it. */
  #preemptFor(sequence: Sequence, at: Millis): Sequence {
    const { victim = sequence } = this.running;
    this.#plan.removeChunk(victim);
    this.running.remove(victim);
    this.#options.kv.release(victim);
    victim.remoteKv = 'none';
    victim.preemptions += 1;
    this.#options.observer.onPreempted(victim, at);
    this.waiting.pushBack(victim);
    return victim;
  }

  #endAborted(at: Millis): void {
    while (this.#aborted.length > 0) {
      const sequence = this.#aborted.shift() as Sequence;
      if (!sequence.finished) this.#end(sequence, 'abort', at);
    }
  }

  #end(sequence: Sequence, reason: FinishReason, at: Millis): void {
    const wasRunning = sequence.runningLink !== undefined;
    this.running.remove(sequence);
    if (!wasRunning && !this.#receiving.delete(sequence)) this.waiting.remove(sequence);
    sequence.finished = true;
    const keeps =
      sequence.request.holdBlocks === true && (reason === 'stop' || reason === 'length');
    if (!keeps) this.#options.kv.release(sequence);
    this.#options.observer.onFinished(sequence, reason, at);
    this.#options.onFinished(sequence, reason, at);
  }
}
