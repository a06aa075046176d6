import { ConfigError } from '../../src/framework/error.ts';
import type { Clock, Millis, Random, Timer } from '../../src/framework/runtime.ts';
import type { BlockSink } from './block-sink.ts';
import type { EngineObserver } from './engine-observer.ts';
import { KvCache } from './kv-cache.ts';
import type { LatencyModel, StepLoad } from './latency-model.ts';
import { LORA_DEFAULTS, type LoraOptions, LoraSlots } from './lora-slots.ts';
import { Scheduler } from './scheduler.ts';
import { type FinishReason, Sequence, type SequenceRequest, type Submission } from './sequence.ts';
import { Speculation, type SpeculationOptions } from './speculation.ts';
import type { QueuePolicy } from './waiting-queue.ts';

/**
 * Steps that may be made up for in one go when the process was too busy to run them in time. Then others get a turn, so
 * that a process that cannot keep up still answers.
 */
const CATCH_UP_STEPS_MAX = 64;

export interface EngineOptions {
  readonly clock: Clock;
  readonly latency: LatencyModel;
  readonly observer: EngineObserver;
  /** Tokens computed in one step at most; longer prompts are cut into chunks. At least `sequencesMax`. */
  readonly batchedTokensMax: number;
  readonly sequencesMax: number;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  /** From arrival to the scheduler's first look: API server, tokenizer, IPC. */
  readonly admissionMs: Millis;
  /** From the last token to the end of the answer. 0 unless said. */
  readonly completionMs?: Millis;
  readonly policy?: QueuePolicy;
  readonly loras?: LoraOptions;
  readonly blockSink?: BlockSink | undefined;
  /** Drafts of several tokens a step. None unless said. Needs `random`. */
  readonly speculative?: SpeculationOptions | undefined;
  /**
   * Relative spread of step times around the model's mean, log-normal: 0 unless said. Published engines show 0.05 to
   * 0.1. Needs `random`.
   */
  readonly jitter?: number;
  readonly random?: Random;
}

/**
 * A continuously batching engine as vLLM runs it, without the model: a scheduler whose steps take as long as the latency
 * model says. Steps follow one another on absolute model time, so a late timer makes the next step early and never the
 * whole run longer.
 */
export class Engine {
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly speculation: Speculation | undefined;
  readonly #options: EngineOptions;
  readonly #scheduler: Scheduler;
  readonly #onTimer = (): void => this.#catchUp();
  #timer: Timer | undefined;
  #stepping = false;
  #stepEndsAt: Millis = 0;
  #stepMs: Millis = 0;
  #latenessMs: Millis = 0;
  #slowdown = 1;
  #asleep = false;
  /** Of a step that was planned while the accelerator was stuck. */
  #stuckMs: Millis | undefined;
  /** Counts crashes, so that what was under way before one is ignored after it. */
  #life = 0;

  constructor(options: EngineOptions) {
    const { batchedTokensMax, sequencesMax, kvBlocks, blockTokens, blockSink } = options;
    if (batchedTokensMax < sequencesMax) {
      const message = `is ${batchedTokensMax}, below sequencesMax, ${sequencesMax}; every running sequence gets a token in each step: raise the one or lower the other`;
      throw new ConfigError('engine', [{ path: 'batchedTokensMax', message }]);
    }
    this.#options = options;
    this.kv = new KvCache({ blocks: kvBlocks, blockTokens, sink: blockSink });
    this.loras = new LoraSlots(options.loras ?? LORA_DEFAULTS);
    const { speculative, random } = options;
    this.speculation =
      speculative === undefined || random === undefined
        ? undefined
        : new Speculation(speculative, random.fork('speculation'));
    this.#scheduler = new Scheduler({
      speculation: this.speculation,
      batchedTokensMax,
      sequencesMax,
      policy: options.policy ?? 'fcfs',
      kv: this.kv,
      loras: this.loras,
      observer: options.observer,
      onRemote: (sequence, tokens) => this.#receive(sequence, tokens),
      onFinished: (sequence, reason, at) => this.#finished(sequence, reason, at),
    });
  }

  get runningCount(): number {
    return this.#scheduler.running.size;
  }

  get waitingCount(): number {
    return this.#scheduler.waitingCount;
  }

  /** In the order of admission. */
  get running(): Iterable<Sequence> {
    return this.#scheduler.running;
  }

  forEachWaiting(visit: (sequence: Sequence) => void): void {
    this.#scheduler.waiting.forEach(visit);
  }

  /** Tokens one sequence may have, prompt and output together, for its KV to fit at all. */
  get contextTokensMax(): number {
    return this.#options.kvBlocks * this.#options.blockTokens;
  }

  /** How late, in model time, the last step was completed: what the process lags behind its own engine. */
  get latenessMs(): Millis {
    return this.#latenessMs;
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  submit(request: SequenceRequest): Submission {
    const { clock, admissionMs, observer } = this.#options;
    const sequence = new Sequence(request, request.arrivedAt ?? clock.now());
    const life = this.#life;
    observer.onArrived(sequence, sequence.arrivedAt);
    const admit = (): void => {
      if (sequence.finished) return;
      // Arrived before a crash and ready after it: it died with the rest.
      if (life !== this.#life) {
        this.#scheduler.fail(sequence, clock.now());
        return;
      }
      this.#scheduler.waiting.push(sequence);
      // Not now: a timer may be late, and the engine's own time must not be.
      this.#wake(Math.max(sequence.arrivedAt + admissionMs, this.#stepEndsAt));
    };
    const waitMs = sequence.arrivedAt + admissionMs - clock.now();
    if (waitMs > 0) clock.setTimer(waitMs, admit);
    else admit();
    return {
      abort: () => {
        this.#scheduler.abort(sequence);
        this.#wake();
      },
      release: () => {
        if (!sequence.finished || life !== this.#life) return;
        this.kv.release(sequence);
        this.#wake();
      },
    };
  }

  /** Steps take `factor` times as long from the next one on; Infinity is an accelerator that hangs. */
  set slowdown(factor: number) {
    this.#slowdown = factor;
    if (this.#stuckMs === undefined || factor === Number.POSITIVE_INFINITY) return;
    this.#stepMs = this.#stuckMs * factor;
    this.#stepEndsAt = this.#options.clock.now() + this.#stepMs;
    this.#stuckMs = undefined;
    this.#arm();
  }

  /** No step begins until `wake`; the KV cache is lost, as at each of vLLM's sleep levels. */
  sleep(): void {
    this.#asleep = true;
    this.kv.clear();
  }

  wakeUp(): void {
    this.#asleep = false;
    this.#wake();
  }

  /** False while anybody holds a block. */
  resetPrefixCache(): boolean {
    return this.kv.clear();
  }

  /** Everything under way ends with `error`; cache and adapters are lost. The engine is idle and new. */
  crash(): void {
    this.#life += 1;
    this.#timer?.cancel();
    this.#stepping = false;
    this.#stuckMs = undefined;
    this.#scheduler.endAll('error', this.#options.clock.now());
    this.kv.forgetAll();
    this.loras.forgetAll();
  }

  #wake(at: Millis = this.#options.clock.now()): void {
    if (this.#stepping || this.#asleep) return;
    this.#plan(at);
    this.#arm();
  }

  /** Plans a step that begins at `at`. */
  #plan(at: Millis): void {
    const plan = this.#asleep ? undefined : this.#scheduler.plan(at);
    this.#stepping = plan !== undefined;
    if (plan === undefined) return;
    const stepMs = this.#durationOf(plan) + plan.loraMs;
    this.#stuckMs = this.#slowdown === Number.POSITIVE_INFINITY ? stepMs : undefined;
    this.#stepMs = stepMs * this.#slowdown;
    this.#stepEndsAt = at + this.#stepMs;
  }

  #arm(): void {
    if (!this.#stepping || this.#stuckMs !== undefined) return;
    const { clock } = this.#options;
    this.#timer = clock.setTimer(this.#stepEndsAt - clock.now(), this.#onTimer);
  }

  /** Ends the step in progress and any that should have ended since. */
  #catchUp(): void {
    const { clock } = this.#options;
    const life = this.#life;
    this.#latenessMs = Math.max(0, clock.now() - this.#stepEndsAt);
    for (let steps = 0; steps < CATCH_UP_STEPS_MAX; steps++) {
      this.#scheduler.complete(this.#stepMs, this.#stepEndsAt);
      if (life !== this.#life) return;
      this.#plan(this.#stepEndsAt);
      if (!this.#stepping || this.#stepEndsAt > clock.now()) break;
    }
    this.#arm();
  }

  #durationOf(plan: StepLoad): Millis {
    const { latency, jitter = 0, random } = this.#options;
    const { stepOverhead } = this.loras.options;
    const draftMs = plan.decodeSequences > 0 ? (this.speculation?.options.draftMs ?? 0) : 0;
    const meanMs = latency(plan) * (this.loras.anyRunning ? 1 + stepOverhead : 1) + draftMs;
    if (jitter === 0 || random === undefined) return meanMs;
    // Log-normal, and the mean stays where it was.
    return meanMs * Math.exp(jitter * normal(random) - (jitter * jitter) / 2);
  }

  #receive(sequence: Sequence, tokens: number): void {
    const life = this.#life;
    const done = (arrived: boolean) => (): void => {
      if (life !== this.#life) return;
      this.#scheduler.remoteDone(sequence, arrived, this.#options.clock.now());
      this.#wake();
    };
    sequence.request.remote?.start(tokens, done(true), done(false));
  }

  #finished({ request, usage }: Sequence, reason: FinishReason, at: Millis): void {
    const { clock, completionMs = 0 } = this.#options;
    if (request.onDone === undefined) return;
    if (completionMs === 0 || reason === 'abort') request.onDone(reason, usage, at);
    else clock.setTimer(completionMs, () => request.onDone?.(reason, usage, at + completionMs));
  }
}

/** Box and Muller. */
function normal(random: Random): number {
  return Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
}
