import type { Clock, Millis } from '../src/framework/runtime.ts';
import { BlockPool } from './block-pool.ts';
import { EngineStats } from './engine-stats.ts';
import type { FinishReason, Sequence, SequenceRequest } from './sequence.ts';
import type { StepTimeModel } from './step-time.ts';

export interface EngineOptions {
  readonly clock: Clock;
  readonly stepTime: StepTimeModel;
  /** Tokens computed in one step at most; longer prompts are cut into chunks. */
  readonly batchedTokensMax: number;
  readonly sequencesMax: number;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  /** Between arrival and the scheduler's first look: API server, tokenizer, IPC. */
  readonly admissionMs: Millis;
}

/** A submitted request; aborting twice, or after the end, does nothing. */
export interface Submission {
  abort(): void;
}

/**
 * A continuously batching engine as vLLM's scheduler runs it, without the model: each step first gives every running
 * sequence a token (or a chunk of its prompt), then admits waiting ones in order while budget and memory last, and
 * takes as long as the step-time model says. Short of memory, the last running sequence is preempted and computed
 * again later.
 */
export class Engine {
  readonly stats: EngineStats = new EngineStats();
  readonly blocks: BlockPool;
  readonly #options: EngineOptions;
  readonly #running: Sequence[] = [];
  readonly #waiting: Sequence[] = [];
  #stepping = false;
  /** When the step in progress ends; the next starts there and not when a late timer fires, so time never stretches. */
  #stepEndsAt = 0;

  constructor(options: EngineOptions) {
    this.#options = options;
    this.blocks = new BlockPool(options.kvBlocks);
  }

  get runningCount(): number {
    return this.#running.length;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get running(): readonly Sequence[] {
    return this.#running;
  }

  /** Tokens a sequence may have, prompt and output together, for its KV to fit at all. */
  get contextTokensMax(): number {
    return this.#options.kvBlocks * this.#options.blockTokens;
  }

  submit(request: SequenceRequest): Submission {
    const { clock, admissionMs } = this.#options;
    const sequence: Sequence = {
      request,
      arrivedAt: clock.now(),
      computedTokens: 0,
      targetTokens: request.promptTokens,
      generatedTokens: 0,
      cachedTokens: 0,
      heldKeys: [],
      anonymousBlocks: 0,
      scheduledAt: undefined,
      firstTokenAt: undefined,
      lastTokenAt: undefined,
      finished: false,
    };
    const admit = (): void => {
      if (sequence.finished) return;
      this.#waiting.push(sequence);
      this.#wake();
    };
    if (admissionMs > 0) clock.setTimer(admissionMs, admit);
    else admit();
    return { abort: () => this.#abort(sequence) };
  }

  #wake(): void {
    if (this.#stepping) return;
    this.#stepEndsAt = this.#options.clock.now();
    this.#step();
  }

  /** Plans one step and waits for its end. */
  #step(): void {
    const plan = this.#plan();
    if (plan === undefined) {
      this.#stepping = false;
      return;
    }
    this.#stepping = true;
    const { clock, stepTime } = this.#options;
    this.#stepEndsAt += stepTime(plan);
    clock.setTimer(this.#stepEndsAt - clock.now(), () => {
      for (const { sequence, tokens } of plan.work) this.#advance(sequence, tokens);
      this.#step();
    });
  }

  #plan():
    | {
        readonly work: readonly { readonly sequence: Sequence; readonly tokens: number }[];
        readonly prefillTokens: number;
        readonly decodeSequences: number;
        readonly contextTokens: number;
      }
    | undefined {
    const work: { sequence: Sequence; tokens: number }[] = [];
    let budget = this.#options.batchedTokensMax;
    let prefillTokens = 0;
    let decodeSequences = 0;
    let contextTokens = 0;
    const include = (sequence: Sequence, tokens: number): void => {
      work.push({ sequence, tokens });
      budget -= tokens;
      if (sequence.firstTokenAt !== undefined && tokens === 1) {
        decodeSequences += 1;
        contextTokens += sequence.computedTokens;
      } else prefillTokens += tokens;
    };
    let preempted = false;
    for (let index = 0; index < this.#running.length && budget > 0; index++) {
      const sequence = this.#running[index] as Sequence;
      const tokens = Math.min(sequence.targetTokens - sequence.computedTokens, budget);
      while (!this.#allocate(sequence, tokens)) {
        preempted = true;
        const victim = this.#running.at(-1) as Sequence;
        this.#preempt(victim);
        if (victim === sequence) break;
      }
      if (this.#running[index] === sequence) include(sequence, tokens);
    }
    while (!preempted && budget > 0 && this.#running.length < this.#options.sequencesMax) {
      const sequence = this.#waiting[0];
      if (sequence === undefined) break;
      const tokens = this.#admit(sequence, budget);
      if (tokens === 0) break;
      this.#waiting.shift();
      this.#running.push(sequence);
      include(sequence, tokens);
    }
    return work.length === 0 ? undefined : { work, prefillTokens, decodeSequences, contextTokens };
  }

  /** Gives a waiting sequence what is cached and a first chunk; 0 when memory does not allow it. */
  #admit(sequence: Sequence, budget: number): number {
    const { blockTokens, clock } = this.#options;
    const { request } = sequence;
    // At least one token must be computed for there to be a next one.
    const limit = Math.min(
      request.blockKeys.length,
      Math.floor((sequence.targetTokens - 1) / blockTokens),
    );
    const matched = this.blocks.matched(request.blockKeys, limit);
    const cachedTokens = matched * blockTokens;
    const tokens = Math.min(sequence.targetTokens - cachedTokens, budget);
    const needed = Math.ceil((cachedTokens + tokens) / blockTokens) - matched;
    if (!this.blocks.fits(request.blockKeys, matched, needed)) return 0;
    this.blocks.hold(request.blockKeys, matched);
    for (let index = 0; index < matched; index++) {
      sequence.heldKeys.push(request.blockKeys[index] as number);
    }
    sequence.computedTokens = cachedTokens;
    this.#allocate(sequence, tokens);
    if (sequence.scheduledAt === undefined) {
      sequence.scheduledAt = clock.now();
      sequence.cachedTokens = cachedTokens;
      this.stats.prefixQueriedTokens += request.promptTokens;
      this.stats.prefixHitTokens += cachedTokens;
      this.stats.queueSeconds.observe((clock.now() - sequence.arrivedAt) / 1000);
    }
    return tokens;
  }

  /** Memory for `tokens` more; blocks of the prompt that become full are cached at once, as vLLM caches them. */
  #allocate(sequence: Sequence, tokens: number): boolean {
    const { blockTokens } = this.#options;
    const after = sequence.computedTokens + tokens;
    const needed =
      Math.ceil(after / blockTokens) - sequence.heldKeys.length - sequence.anonymousBlocks;
    if (needed > 0) {
      if (!this.blocks.take(needed)) return false;
      sequence.anonymousBlocks += needed;
    }
    const { blockKeys } = sequence.request;
    const full = Math.min(Math.floor(after / blockTokens), blockKeys.length);
    // Only while the chain is unbroken: behind a duplicate of our own the rest stays without identity.
    while (sequence.heldKeys.length < full) {
      const key = blockKeys[sequence.heldKeys.length] as number;
      if (!this.blocks.fill(key)) break;
      sequence.heldKeys.push(key);
      sequence.anonymousBlocks -= 1;
    }
    return true;
  }

  #advance(sequence: Sequence, tokens: number): void {
    if (sequence.finished) return;
    sequence.computedTokens += tokens;
    if (sequence.computedTokens < sequence.targetTokens) return;
    const at = this.#stepEndsAt;
    if (sequence.firstTokenAt === undefined) {
      sequence.firstTokenAt = at;
      this.stats.promptTokens += sequence.request.promptTokens;
      this.stats.ttftSeconds.observe((at - sequence.arrivedAt) / 1000);
    } else if (sequence.lastTokenAt !== undefined) {
      this.stats.interTokenSeconds.observe((at - sequence.lastTokenAt) / 1000);
    }
    sequence.lastTokenAt = at;
    sequence.generatedTokens += 1;
    sequence.targetTokens += 1;
    this.stats.generatedTokens += 1;
    sequence.request.onToken?.(sequence.generatedTokens, at);
    if (sequence.generatedTokens >= sequence.request.outputTokens) this.#finish(sequence, 'length');
  }

  #preempt(sequence: Sequence): void {
    this.#running.splice(this.#running.indexOf(sequence), 1);
    this.#free(sequence);
    sequence.computedTokens = 0;
    this.#waiting.unshift(sequence);
    this.stats.preemptions += 1;
  }

  #abort(sequence: Sequence): void {
    if (sequence.finished) return;
    this.#finish(sequence, 'abort');
  }

  #finish(sequence: Sequence, reason: FinishReason): void {
    sequence.finished = true;
    for (const list of [this.#running, this.#waiting]) {
      const index = list.indexOf(sequence);
      if (index >= 0) list.splice(index, 1);
    }
    this.#free(sequence);
    const at = reason === 'abort' ? this.#options.clock.now() : this.#stepEndsAt;
    this.stats.finished[reason] += 1;
    this.stats.requestSeconds.observe((at - sequence.arrivedAt) / 1000);
    const usage = {
      promptTokens: sequence.request.promptTokens,
      completionTokens: sequence.generatedTokens,
      cachedTokens: sequence.cachedTokens,
    };
    sequence.request.onDone?.(reason, usage, at);
  }

  /** Tail first, so that the head of a prompt, which others may share, is the last to be evicted. */
  #free(sequence: Sequence): void {
    for (let index = sequence.heldKeys.length - 1; index >= 0; index--) {
      this.blocks.release(sequence.heldKeys[index] as number);
    }
    this.blocks.drop(sequence.anonymousBlocks);
    sequence.heldKeys = [];
    sequence.anonymousBlocks = 0;
  }
}
