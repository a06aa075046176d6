import type { Clock, Millis } from '../../src/framework/runtime.ts';
import type { MetricsSample } from '../../src/library/create-picker.ts';
import type { SequenceRequest, Submission } from '../../stub-server/engine/sequence.ts';
import { PrefixLru } from './prefix-lru.ts';

/** By which rules an engine fills its steps, and how long these take. */
export interface EngineRules {
  /**
   * `mixed`: a step has one token of each answer and chunks of prompts. `prefill-first`: while
   * prompts wait and memory is left, a step computes whole prompts and no answer gets a token.
   */
  readonly steps: 'mixed' | 'prefill-first';
  /**
   * Tokens of a step. A longer prompt is split, or is a step of its own where prompts are whole.
   */
  readonly stepTokens: number;
  readonly sequencesMax: number;
  readonly kvTokens: number;
  readonly baseMs: Millis;
  readonly perPromptTokenMs: Millis;
  /** For each token of a prompt and each token before it. */
  readonly perPairMs: Millis;
  readonly perAnswerMs: Millis;
  readonly perContextTokenMs: Millis;
}

interface Running {
  readonly request: SequenceRequest;
  /** Tokens of the prompt that are done, the cached ones included. */
  computed: number;
  cached: number;
  answered: number;
}

/** Tokens of a prompt that one step computes. */
interface Chunk {
  readonly of: Running;
  readonly tokens: number;
}

/**
 * A second engine, by other rules than those of the stub and written without its code: memory for
 * prompt and answer is reserved before a request begins, so nothing is ever preempted, and held
 * prompts are single blocks in one list. It serves first come, first served.
 */
export class OtherEngine {
  /** From now on steps take so many times as long. */
  slowdown = 1;
  readonly #rules: EngineRules;
  readonly #clock: Clock;
  readonly #blockTokens: number;
  readonly #waiting: Running[] = [];
  #running: Running[] = [];
  readonly #cache = new PrefixLru();
  #reservedTokens = 0;
  #isBusy = false;
  /** Crashes so far: what began before one is lost. */
  #life = 0;

  constructor(rules: EngineRules, parts: { readonly clock: Clock; readonly blockTokens: number }) {
    this.#rules = rules;
    this.#clock = parts.clock;
    this.#blockTokens = parts.blockTokens;
  }

  submit(request: SequenceRequest): Submission {
    this.#waiting.push({ request, computed: 0, cached: 0, answered: 0 });
    if (!this.#isBusy) this.#step();
    return { abort: () => {}, release: () => {} };
  }

  sample(): MetricsSample {
    return {
      waitingQueueSize: this.#waiting.length,
      runningRequests: this.#running.length,
      kvCacheUsage: this.#reservedTokens / this.#rules.kvTokens,
    };
  }

  /** Ends all requests with `error`, and loses what was held. */
  crash(): void {
    const lost = [...this.#running, ...this.#waiting.splice(0)];
    this.#running = [];
    this.#reservedTokens = 0;
    this.#isBusy = false;
    this.#life += 1;
    this.#cache.clear();
    for (const each of lost) each.request.onDone?.('error', usageOf(each), this.#clock.now());
  }

  #step(): void {
    const isMixed = this.#rules.steps === 'mixed';
    const chunks = this.#chunks(isMixed);
    const answering =
      isMixed || chunks.length === 0 ? this.#running.filter((each) => isAnswering(each)) : [];
    this.#isBusy = chunks.length + answering.length > 0;
    if (!this.#isBusy) return;
    const life = this.#life;
    this.#clock.setTimer(this.slowdown * this.#stepMs(chunks, answering), () => {
      if (life !== this.#life) return;
      this.#end(chunks, answering);
      this.#step();
    });
  }

  /** What of prompts the next step computes. Takes waiting requests in as far as there is room. */
  #chunks(isMixed: boolean): readonly Chunk[] {
    const { stepTokens, sequencesMax } = this.#rules;
    const chunks: Chunk[] = [];
    let left = stepTokens - (isMixed ? this.#running.length : 0);
    const add = (of: Running): void => {
      const missing = of.request.promptTokens - of.computed;
      const tokens = isMixed ? Math.min(left, missing) : missing;
      chunks.push({ of, tokens });
      left -= tokens;
    };
    for (const each of this.#running) if (!isAnswering(each) && left > 0) add(each);
    while (left > 0 && this.#running.length < sequencesMax) {
      const [next] = this.#waiting;
      if (next === undefined || !this.#takeIn(next)) break;
      this.#waiting.shift();
      this.#running.push(next);
      add(next);
    }
    return chunks;
  }

  /** Reserves the memory of prompt and answer; false where there is not so much left. */
  #takeIn(next: Running): boolean {
    const { request } = next;
    const tokens = request.promptTokens + request.outputTokens;
    const { kvTokens } = this.#rules;
    if (this.#reservedTokens + tokens > kvTokens && this.#running.length > 0) return false;
    this.#reservedTokens += tokens;
    const held = this.#cache.match(request.blockHashes) * this.#blockTokens;
    next.cached = Math.min(held, request.promptTokens - 1);
    next.computed = next.cached;
    this.#makeRoom();
    return true;
  }

  /** What is reserved is no longer there for prompts that are only held. */
  #makeRoom(): void {
    const tokens = this.#rules.kvTokens - this.#reservedTokens;
    this.#cache.keep(Math.max(0, Math.floor(tokens / this.#blockTokens)));
  }

  #stepMs(chunks: readonly Chunk[], answering: readonly Running[]): Millis {
    const { baseMs, perPromptTokenMs, perPairMs, perAnswerMs, perContextTokenMs } = this.#rules;
    let ms = baseMs;
    for (const { of, tokens } of chunks) {
      ms += tokens * (perPromptTokenMs + perPairMs * (of.computed + tokens / 2));
    }
    for (const { request, answered } of answering) {
      ms += perAnswerMs + perContextTokenMs * (request.promptTokens + answered);
    }
    return ms;
  }

  #end(chunks: readonly Chunk[], answering: readonly Running[]): void {
    const at = this.#clock.now();
    for (const { of, tokens } of chunks) {
      of.computed += tokens;
      if (!isAnswering(of)) continue;
      this.#cache.add(of.request.blockHashes);
      this.#makeRoom();
      of.answered = 1;
      of.request.onFirstToken?.(at);
    }
    for (const each of answering) each.answered += 1;
    const ended = this.#running.filter(
      (each) => isAnswering(each) && each.answered >= each.request.outputTokens,
    );
    if (ended.length === 0) return;
    this.#running = this.#running.filter((each) => !ended.includes(each));
    for (const each of ended) {
      const { request } = each;
      this.#reservedTokens -= request.promptTokens + request.outputTokens;
      request.onDone?.('length', usageOf(each), at);
    }
  }
}

function isAnswering({ request, computed }: Running): boolean {
  return computed >= request.promptTokens;
}

function usageOf({ request, answered, cached }: Running) {
  return {
    promptTokens: request.promptTokens,
    completionTokens: answered,
    cachedTokens: cached,
  };
}
