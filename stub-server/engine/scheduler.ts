import type { Millis } from '../../src/framework/runtime.ts';
import { DecodeSet, type Decoding } from './decode-set.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { KvCache } from './kv-cache.ts';
import type { StepLoad } from './latency-model.ts';
import { LinkedList } from './linked-list.ts';
import type { LoraSlots } from './lora-slots.ts';
import type { FinishReason, Sequence } from './sequence.ts';
import type { Speculation } from './speculation.ts';
import { SpeculativeDecodeSet } from './speculative-decode-set.ts';
import { comesBefore, type QueuePolicy, WaitingQueue } from './waiting-queue.ts';

export interface SchedulerOptions {
  /** Tokens computed in one step at most; longer prompts are cut into chunks. At least `sequencesMax`, as in vLLM. */
  readonly batchedTokensMax: number;
  /** Sequences in a batch at most. */
  readonly sequencesMax: number;
  readonly policy: QueuePolicy;
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly speculation: Speculation | undefined;
  readonly observer: EngineObserver;
  /** Memory for `tokens` tokens of KV from elsewhere has been taken; `remoteDone` is awaited. */
  readonly onRemote: (sequence: Sequence, tokens: number) => void;
  /** When a request has ended, after the observer was told. */
  readonly onFinished: (sequence: Sequence, reason: FinishReason, at: Millis) => void;
}

/** A `StepLoad` that is written anew for each step. */
type StepPlan = { -readonly [Key in keyof StepLoad]: StepLoad[Key] } & {
  /** For adapters to be brought, on top of what the latency model says. */
  loraMs: Millis;
};

/**
 * vLLM V1's scheduler, without a clock: `plan` gives each running sequence a token or a chunk of its prompt, then admits
 * waiting ones in order while budget and memory last; `complete` ends that step. Short of memory, the last running
 * sequence is preempted and computed again later.
 *
 * All but the newest running sequence have their prompts behind them: a chunk that ends before its prompt has used the
 * budget up, so that nothing is admitted after it. That is why those decoding can be kept as a set.
 */
export class Scheduler {
  readonly waiting: WaitingQueue;
  readonly running: LinkedList<Sequence> = new LinkedList();
  readonly #options: SchedulerOptions;
  readonly #decoding: Decoding;
  /** Running, with prompt left to compute, in running order. */
  readonly #prefilling: Sequence[] = [];
  /** Of the step at hand, with their tokens beside them. */
  readonly #chunks: Sequence[] = [];
  readonly #chunkTokens: number[] = [];
  readonly #aborted: Sequence[] = [];
  /** Their KV is on its way; they hold memory and wait outside the queue. */
  readonly #receiving = new Set<Sequence>();
  readonly #plan: StepPlan = {
    prefillTokens: 0,
    prefillSequences: 0,
    decodeSequences: 0,
    contextTokens: 0,
    attendedSquares: 0,
    draftTokens: 0,
    acceptedTokens: 0,
    loraMs: 0,
  };

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.waiting = new WaitingQueue(options.policy);
    this.#decoding =
      options.speculation === undefined
        ? new DecodeSet(options.kv.blockTokens)
        : new SpeculativeDecodeSet(options.speculation);
  }

  /** Those who wait for their turn or for KV from elsewhere. */
  get waitingCount(): number {
    return this.waiting.length + this.#receiving.size;
  }

  /** Plans a step and takes the memory for it; undefined when there is nothing to do. Valid until the next call. */
  plan(at: Millis): Readonly<StepPlan> | undefined {
    this.#endAborted(at);
    const plan = this.#plan;
    plan.prefillTokens = 0;
    plan.prefillSequences = 0;
    plan.attendedSquares = 0;
    plan.loraMs = 0;
    this.#chunks.length = 0;
    this.#chunkTokens.length = 0;
    this.#decoding.beginStep();
    const preempted = this.#growDecoding(at);
    const { count, draftTokens } = this.#decoding;
    const budget = Math.max(0, this.#options.batchedTokensMax - count - draftTokens);
    const left = this.#continuePrefills(budget, at);
    // Memory just taken from somebody is not given to newcomers.
    if (!preempted && left >= 0) this.#admitWaiting(left, at);
    plan.decodeSequences = this.#decoding.count;
    plan.contextTokens = this.#decoding.contextTokens;
    plan.draftTokens = this.#decoding.draftTokens;
    return plan.decodeSequences + plan.prefillSequences > 0 ? plan : undefined;
  }

  /** The planned step has ended: tokens come. */
  complete(durationMs: Millis, at: Millis): void {
    this.#endAborted(at);
    // Who was aborted during the step gets nothing of it.
    this.#plan.decodeSequences = this.#decoding.count;
    this.#decoding.advance(at);
    this.#plan.acceptedTokens = this.#decoding.acceptedTokens;
    this.#options.observer.onStep(this.#plan, durationMs, at);
    this.#decoding.tell(at);
    this.#decoding.takeEnded((sequence) => this.#end(sequence, outcomeOf(sequence), at));
    for (let index = 0; index < this.#chunks.length; index++) {
      const sequence = this.#chunks[index] as Sequence;
      if (!sequence.finished) this.#chunkDone(sequence, this.#chunkTokens[index] as number, at);
    }
  }

  /** Takes effect at the next edge of a step, as vLLM's core hears of it. */
  abort(sequence: Sequence): void {
    if (sequence.finished || sequence.aborted) return;
    sequence.aborted = true;
    this.#aborted.push(sequence);
  }

  /** The KV a sequence has waited for is here, or will not come. */
  remoteDone(sequence: Sequence, arrived: boolean, at: Millis): void {
    if (!this.#receiving.has(sequence)) return;
    if (!arrived) {
      this.#end(sequence, 'error', at);
      return;
    }
    this.#receiving.delete(sequence);
    sequence.remoteKv = 'here';
    this.#options.kv.arrived(sequence, remoteTokens(sequence));
    this.waiting.pushBack(sequence);
  }

  /** Ends a request that is not in the queue yet. */
  fail(sequence: Sequence, at: Millis): void {
    this.#end(sequence, 'error', at);
  }

  /** Ends everything, as a crash does. */
  endAll(reason: FinishReason, at: Millis): void {
    for (const sequence of this.running) this.#end(sequence, reason, at);
    for (const sequence of this.waiting.takeAll()) this.#end(sequence, reason, at);
    for (const sequence of this.#receiving) this.#end(sequence, reason, at);
    this.#aborted.length = 0;
    this.#chunks.length = 0;
  }

  /** Memory for the next token, or tokens, of each that decodes. Returns whether anybody had to give way. */
  #growDecoding(at: Millis): boolean {
    let preempted = false;
    for (let link = this.#decoding.growing.first; link !== undefined; link = link.next) {
      const { item } = link;
      // A victim of this very loop: it has left the list, its `next` still leads on.
      if (!this.#decoding.has(item)) continue;
      this.#decoding.settle(item);
      while (!this.#options.kv.extend(item, this.#decoding.tokensOf(item))) {
        preempted = true;
        if (this.#preemptFor(item, at) === item) break;
      }
    }
    for (const sequence of this.#decoding.filling) {
      this.#decoding.settle(sequence);
      this.#options.kv.extend(sequence, 1);
    }
    return preempted;
  }

  /** The next chunk of what runs but is not through its prompt. Returns the budget left, -1 after a preemption. */
  #continuePrefills(budget: number, at: Millis): number {
    let left = budget;
    let preempted = false;
    for (let index = 0; index < this.#prefilling.length && left > 0; index++) {
      const sequence = this.#prefilling[index] as Sequence;
      const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, left);
      let fits = this.#options.kv.extend(sequence, tokens);
      while (!fits) {
        preempted = true;
        if (this.#preemptFor(sequence, at) === sequence) break;
        fits = this.#options.kv.extend(sequence, tokens);
      }
      if (!fits) continue;
      this.#include(sequence, tokens);
      left -= tokens;
    }
    return preempted ? -1 : left;
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
      if (needsRemote(sequence)) {
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

  /** The tokens of the first chunk, memory for it taken; 0 when there is none. */
  #admit(sequence: Sequence, budget: number): number {
    const { kv } = this.#options;
    if (sequence.remoteKv !== 'here') return kv.admit(sequence, budget);
    const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, budget);
    return kv.extend(sequence, tokens) ? tokens : 0;
  }

  #start(sequence: Sequence, tokens: number, at: Millis): void {
    const { loras, observer } = this.#options;
    sequence.runningLink = this.running.append(sequence);
    this.#prefilling.push(sequence);
    this.#plan.loraMs += loras.join(sequence.request.lora);
    if (Number.isNaN(sequence.scheduledAt)) {
      sequence.scheduledAt = at;
      sequence.cachedTokens = sequence.computedTokens;
    }
    observer.onScheduled(sequence, at);
    this.#include(sequence, tokens);
  }

  /** Takes memory for KV from elsewhere and has it sent. False when there is no memory. */
  #beginRemote(sequence: Sequence, index: number): boolean {
    const missing = this.#options.kv.admitRemote(sequence, remoteTokens(sequence));
    if (missing < 0) return false;
    sequence.remoteTokens = missing;
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

  #include(sequence: Sequence, tokens: number): void {
    const before = sequence.computedTokens;
    const after = before + tokens;
    this.#chunks.push(sequence);
    this.#chunkTokens.push(tokens);
    this.#plan.prefillTokens += tokens;
    this.#plan.prefillSequences += 1;
    this.#plan.attendedSquares += after * after - before * before;
  }

  #chunkDone(sequence: Sequence, tokens: number, at: Millis): void {
    sequence.computedTokens += tokens;
    if (sequence.computedTokens < sequence.targetTokens) return;
    const { request } = sequence;
    this.#prefilling.splice(this.#prefilling.indexOf(sequence), 1);
    sequence.generatedTokens += 1;
    sequence.targetTokens += 1;
    if (sequence.generatedTokens === 1) sequence.firstTokenAt = at;
    this.#options.observer.onPrefilled(sequence, at);
    sequence.lastTokenAt = at;
    if (sequence.generatedTokens === 1) request.onFirstToken?.(at);
    request.onToken?.(sequence.generatedTokens, at);
    if (sequence.generatedTokens >= request.outputTokens) {
      this.#end(sequence, outcomeOf(sequence), at);
    } else this.#decoding.join(sequence);
  }

  /** Sends the last running sequence, or the least urgent one, back to wait, and returns it. */
  #preemptFor(sequence: Sequence, at: Millis): Sequence {
    const victim = this.#victim() ?? sequence;
    this.#uncount(victim);
    this.#stopRunning(victim);
    this.#options.kv.release(victim);
    victim.remoteKv = 'none';
    victim.preemptions += 1;
    this.#options.observer.onPreempted(victim, at);
    this.waiting.pushBack(victim);
    return victim;
  }

  #victim(): Sequence | undefined {
    if (this.#options.policy === 'fcfs') return this.running.last?.item;
    let worst: Sequence | undefined;
    for (const sequence of this.running) {
      if (worst === undefined || !comesBefore(sequence, worst)) worst = sequence;
    }
    return worst;
  }

  /** Takes a preempted sequence's chunk out of the step at hand. */
  #uncount(victim: Sequence): void {
    const index = this.#chunks.indexOf(victim);
    if (index < 0) return;
    const tokens = this.#chunkTokens[index] as number;
    this.#chunks.splice(index, 1);
    this.#chunkTokens.splice(index, 1);
    const before = victim.computedTokens;
    this.#plan.prefillTokens -= tokens;
    this.#plan.prefillSequences -= 1;
    this.#plan.attendedSquares -= (before + tokens) ** 2 - before ** 2;
  }

  #stopRunning(sequence: Sequence): void {
    if (sequence.runningLink === undefined) return;
    sequence.runningLink.leave();
    sequence.runningLink = undefined;
    this.#options.loras.leave(sequence.request.lora);
    if (this.#decoding.has(sequence)) {
      this.#decoding.leave(sequence);
      return;
    }
    const index = this.#prefilling.indexOf(sequence);
    if (index >= 0) this.#prefilling.splice(index, 1);
  }

  #endAborted(at: Millis): void {
    while (this.#aborted.length > 0) {
      const sequence = this.#aborted.shift() as Sequence;
      if (!sequence.finished) this.#end(sequence, 'abort', at);
    }
  }

  #end(sequence: Sequence, reason: FinishReason, at: Millis): void {
    const wasRunning = sequence.runningLink !== undefined;
    this.#stopRunning(sequence);
    if (!wasRunning && !this.#receiving.delete(sequence)) this.waiting.remove(sequence);
    sequence.finished = true;
    const keeps =
      sequence.request.holdBlocks === true && (reason === 'stop' || reason === 'length');
    if (!keeps) this.#options.kv.release(sequence);
    this.#options.observer.onFinished(sequence, reason, at);
    this.#options.onFinished(sequence, reason, at);
  }
}

function outcomeOf(sequence: Sequence): FinishReason {
  return sequence.request.finishReason ?? 'length';
}

/** Once preempted it computes what had come, as vLLM does. */
function needsRemote({ request, remoteKv, preemptions }: Sequence): boolean {
  return request.remote !== undefined && remoteKv === 'none' && preemptions === 0;
}

function remoteTokens({ request }: Sequence): number {
  return Math.min(request.remote?.tokens ?? 0, request.promptTokens);
}
