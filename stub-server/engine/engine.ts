import { ConfigError } from '../../src/framework/error.ts';
import type { Clock, Millis, Random, Timer } from '../../src/framework/runtime.ts';
import { ENCODER_DEFAULTS, Encoder, type EncoderOptions } from './encoder.ts';
import type { QueuePolicy } from './engine-queue.ts';
import type { BlockSink } from './kv-cache/block-sink.ts';
import type { HostTierOptions } from './kv-cache/host-tier.ts';
import { type KvCache, kvCacheOf } from './kv-cache/kv-cache.ts';
import type { LatencyModel, StepLoad } from './latency-model.ts';
import { LORA_DEFAULTS, type LoraOptions, LoraSlots } from './lora-slots.ts';
import type { ModelEngine } from './model-engine.ts';
import { normal } from './normal.ts';
import { Scheduler, type SchedulerOptions } from './scheduler.ts';
import { type FinishReason, Sequence, type SequenceRequest, type Submission } from './sequence.ts';
import { Speculation, type SpeculationOptions } from './speculation.ts';

/** Late steps per timer callback: a process that cannot keep up must still answer requests. */
const CATCH_UP_STEPS_MAX = 64;

type SchedulerParts = Pick<SchedulerOptions, 'batchedTokensMax' | 'sequencesMax' | 'observer'>;

export interface EngineOptions extends SchedulerParts {
  readonly clock: Clock;
  readonly latency: LatencyModel;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  /** From arrival until the scheduler sees the request: API server, tokenizer, IPC. */
  readonly admissionMs: Millis;
  /**
   * Added to `admissionMs` for each running sequence, because one process takes requests and passes
   * on tokens: after a step a request waits behind a token of each. 0 by default.
   */
  readonly admissionPerSequenceMs?: Millis;
  /** From the last token to the end of the answer; 0 by default. */
  readonly completionMs?: Millis;
  readonly policy?: QueuePolicy;
  readonly loras?: LoraOptions;
  readonly encoder?: EncoderOptions | undefined;
  /** Host memory that keeps blocks which are evicted from the accelerator; none by default. */
  readonly hostTier?: HostTierOptions | undefined;
  readonly blockSink?: BlockSink | undefined;
  /**
   * Whether a preempted sequence finds its blocks again that have no hash, as in vLLM, which hashes
   * answers, too; not by default. Needed where hashes are only those of prompts.
   */
  readonly namesOwnBlocks?: boolean;
  /**
   * Whether a sequence is admitted only where all that it has to compute fits in free memory, as by
   * default in vLLM since 0.19 (`scheduler_reserve_full_isl`); true by default. If not, memory for
   * its first chunk is enough, and several long prompts may evict each other.
   */
  readonly wholePromptMustFit?: boolean;
  /** Speculative decoding; none by default. Needs `random`. */
  readonly speculative?: SpeculationOptions | undefined;
  /** Log-normal spread of step times, 0 by default; engines show 0.05 to 0.1. Needs `random`. */
  readonly jitter?: number;
  readonly random?: Random;
}

/**
 * vLLM's continuous batching without the model: a latency model gives the duration of each step. A
 * step begins at the exact model time at which the one before ends: late timers do not add up.
 */
export class Engine implements ModelEngine {
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly speculation: Speculation | undefined;
  readonly encoder: Encoder;
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
  /** Duration of a step that was planned while the accelerator hung. */
  #stuckMs: Millis | undefined;
  /** Number of crashes. Callbacks from before a crash compare it and then do nothing. */
  #crashes = 0;

  constructor(options: EngineOptions) {
    const { batchedTokensMax, sequencesMax, speculative, random } = options;
    if (batchedTokensMax < sequencesMax) {
      const message = `is ${batchedTokensMax}, below sequencesMax (${sequencesMax}), but every running sequence needs a token in each step: raise batchedTokensMax or lower sequencesMax`;
      throw new ConfigError('engine', [{ path: 'batchedTokensMax', message }]);
    }
    this.#options = options;
    this.kv = kvCacheOf(options);
    this.loras = new LoraSlots(options.loras ?? LORA_DEFAULTS);
    this.speculation =
      speculative && random && new Speculation(speculative, random.fork('speculation'));
    this.encoder = new Encoder(options.encoder ?? ENCODER_DEFAULTS);
    this.#scheduler = new Scheduler({
      ...options,
      encoder: this.encoder,
      speculation: this.speculation,
      policy: options.policy ?? 'fcfs',
      kv: this.kv,
      loras: this.loras,
      onRemote: (sequence, tokens) => this.#receive(sequence, tokens),
      onFinished: (sequence, reason, at) => this.#finished(sequence, reason, at),
    });
  }

  get runningCount(): number {
    return this.#scheduler.running.size;
  }

  get waitingCount(): number {
    return this.#scheduler.admission.count;
  }

  forEachWaiting(visit: (sequence: Sequence) => void): void {
    this.#scheduler.admission.forEachWaiting(visit);
  }

  /** Maximum tokens of one sequence, prompt and output, whose KV fits in memory. */
  get contextTokensMax(): number {
    return this.#options.kvBlocks * this.#options.blockTokens;
  }

  /** How late the process completed the last step, in model time. */
  get latenessMs(): Millis {
    return this.#latenessMs;
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  submit(request: SequenceRequest): Submission {
    const { clock, observer, admissionPerSequenceMs = 0 } = this.#options;
    const admissionMs = this.#options.admissionMs + admissionPerSequenceMs * this.runningCount;
    const sequence = new Sequence(request, request.arrivedAt ?? clock.now());
    const crashes = this.#crashes;
    observer.onArrived(sequence, sequence.arrivedAt);
    const admit = (): void => {
      if (sequence.finished) return;
      // It arrived before a crash, so it fails with all other requests.
      if (crashes !== this.#crashes) {
        this.#scheduler.fail(sequence, clock.now());
        return;
      }
      this.#scheduler.admission.waiting.push(sequence);
      // Not `clock.now()`: a timer can be late, and the engine's own time must not be.
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
        if (!sequence.finished || crashes !== this.#crashes) return;
        this.kv.release(sequence);
        this.#wake();
      },
    };
  }

  /** From the next step on, steps take `factor` times as long; Infinity: the accelerator hangs. */
  set slowdown(factor: number) {
    this.#slowdown = factor;
    if (this.#stuckMs === undefined || factor === Number.POSITIVE_INFINITY) return;
    this.#stepMs = this.#stuckMs * factor;
    this.#stepEndsAt = this.#options.clock.now() + this.#stepMs;
    this.#stuckMs = undefined;
    this.#arm();
  }

  /** Starts no step until `wakeUp`. The KV cache is lost, as at each of vLLM's sleep levels. */
  sleep(): void {
    this.#asleep = true;
    this.kv.clear({ host: true });
  }

  wakeUp(): void {
    this.#asleep = false;
    this.#wake();
  }

  /** Returns false, and changes nothing, while a sequence holds a block. */
  resetPrefixCache(options = { host: false }): boolean {
    return this.kv.clear(options);
  }

  /** Ends all requests with `error` and loses cache and adapters. The engine is then as new. */
  crash(): void {
    this.#crashes += 1;
    this.#timer?.cancel();
    this.#stepping = false;
    this.#stuckMs = undefined;
    this.#scheduler.failAll(this.#options.clock.now());
    this.kv.crash();
    this.loras.forgetAll();
    this.encoder.clear();
  }

  #wake(at: Millis = this.#options.clock.now()): void {
    if (this.#stepping || this.#asleep) return;
    this.#plan(at);
    this.#arm();
  }

  /** Plans the step that begins at `at`. */
  #plan(at: Millis): void {
    const plan = this.#asleep ? undefined : this.#scheduler.plan(at);
    this.#stepping = plan !== undefined;
    if (plan === undefined) return;
    const stepMs = this.#durationOf(plan) + plan.loadMs;
    this.#stuckMs = this.#slowdown === Number.POSITIVE_INFINITY ? stepMs : undefined;
    this.#stepMs = stepMs * this.#slowdown;
    this.#stepEndsAt = at + this.#stepMs;
  }

  #arm(): void {
    if (!this.#stepping || this.#stuckMs !== undefined) return;
    const { clock } = this.#options;
    this.#timer = clock.setTimer(this.#stepEndsAt - clock.now(), this.#onTimer);
  }

  /** Completes the step in progress and all others that should have ended by now. */
  #catchUp(): void {
    const { clock } = this.#options;
    const crashes = this.#crashes;
    this.#latenessMs = Math.max(0, clock.now() - this.#stepEndsAt);
    for (let steps = 0; steps < CATCH_UP_STEPS_MAX; steps++) {
      this.#scheduler.complete(this.#stepMs, this.#stepEndsAt);
      if (crashes !== this.#crashes) return;
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
    // Log-normal with an unchanged mean.
    return meanMs * Math.exp(jitter * normal(random) - (jitter * jitter) / 2);
  }

  #receive(sequence: Sequence, tokens: number): void {
    const ready = (): void => {
      this.#scheduler.admission.arrived(sequence);
      this.#wake();
    };
    const fail = (): void => {
      const { clock } = this.#options;
      this.#scheduler.remoteFailed(sequence, clock.now());
      // Not now: it may fail at once, while the step is planned that has begun the transfer.
      clock.setTimer(0, () => this.#wake());
    };
    sequence.remote?.start(tokens, ready, fail);
  }

  #finished({ request, usage }: Sequence, reason: FinishReason, at: Millis): void {
    const { clock, completionMs = 0 } = this.#options;
    if (request.onDone === undefined) return;
    if (completionMs === 0 || reason === 'abort') request.onDone(reason, usage, at);
    else clock.setTimer(completionMs, () => request.onDone?.(reason, usage, at + completionMs));
  }
}
