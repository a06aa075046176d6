import type { Clock, Millis, Random } from '../../src/framework/runtime.ts';
import { Admission } from './admission.ts';
import { ENCODER_DEFAULTS, Encoder, type EncoderOptions } from './encoder.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { QueuePolicy } from './engine-queue.ts';
import type { BlockSink } from './kv-cache/block-sink.ts';
import type { HostTierOptions } from './kv-cache/host-tier.ts';
import { type KvCache, kvCacheOf } from './kv-cache/kv-cache.ts';
import { type LoraOptions, LoraSlots } from './lora-slots.ts';
import type { ModelEngine } from './model-engine.ts';
import { type FinishReason, Sequence, type SequenceRequest, type Submission } from './sequence.ts';
import { giveToken, type TimedRun } from './timed-run.ts';
import { DrawnTimes, type Timings } from './timings.ts';

/** Late tokens per timer callback: a process that cannot keep up must still answer requests. */
const CATCH_UP_TOKENS_MAX = 64;

interface TimedEngineOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The times in force; read anew for each request and token. */
  readonly timings: () => Timings;
  readonly sequencesMax: number;
  readonly kvBlocks: number;
  readonly blockTokens: number;
  readonly policy: QueuePolicy;
  readonly loras: LoraOptions;
  readonly encoder?: EncoderOptions | undefined;
  readonly hostTier?: HostTierOptions | undefined;
  readonly observer: EngineObserver;
  readonly blockSink?: BlockSink | undefined;
}

/**
 * An engine without steps: each sequence takes the configured times, whatever runs beside it, as in
 * llm-d-inference-sim. Queue, KV memory, prefix cache and preemption are those of the other engine.
 */
export class TimedEngine implements ModelEngine {
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly encoder: Encoder;
  readonly speculation: undefined = undefined;
  readonly #options: TimedEngineOptions;
  readonly #admission: Admission;
  /** In order of admission. */
  readonly #running = new Map<Sequence, TimedRun>();
  readonly #times: DrawnTimes;
  #latenessMs: Millis = 0;
  /** Number of crashes, which release all blocks. */
  #crashes = 0;
  #asleep = false;

  constructor(options: TimedEngineOptions) {
    this.#options = options;
    this.kv = kvCacheOf(options);
    this.loras = new LoraSlots(options.loras);
    this.encoder = new Encoder(options.encoder ?? ENCODER_DEFAULTS);
    this.#admission = new Admission({
      ...options,
      kv: this.kv,
      loras: this.loras,
      receive: (sequence, tokens) => this.#receive(sequence, tokens),
      skipsEmptyTransfers: false,
    });
    this.#times = new DrawnTimes(options);
  }

  get runningCount(): number {
    return this.#running.size;
  }

  get waitingCount(): number {
    return this.#admission.count;
  }

  get contextTokensMax(): number {
    return this.#options.kvBlocks * this.#options.blockTokens;
  }

  get latenessMs(): Millis {
    return this.#latenessMs;
  }

  get asleep(): boolean {
    return this.#asleep;
  }

  forEachWaiting(visit: (sequence: Sequence) => void): void {
    this.#admission.forEachWaiting(visit);
  }

  submit(request: SequenceRequest): Submission {
    const { clock, observer } = this.#options;
    const sequence = new Sequence(request, request.arrivedAt ?? clock.now());
    const crashes = this.#crashes;
    observer.onArrived(sequence, sequence.arrivedAt);
    this.#admission.waiting.push(sequence);
    this.#admitWaiting();
    return {
      abort: () => {
        if (!sequence.finished) this.#end(sequence, 'abort', clock.now());
        this.#admitWaiting();
      },
      release: () => {
        if (!sequence.finished || crashes !== this.#crashes) return;
        this.kv.release(sequence);
        this.#admitWaiting();
      },
    };
  }

  /** Waits that have begun keep their length, unless the accelerator hangs or hung. */
  set slowdown(factor: number) {
    const { hung } = this.#times;
    this.#times.slowdown = factor;
    for (const [sequence, run] of this.#running) {
      if (this.#times.hung) run.timer?.cancel();
      else if (hung) this.#arm(sequence, run, this.#options.clock.now());
    }
  }

  sleep(): void {
    this.#asleep = true;
    this.kv.clear({ host: true });
  }

  wakeUp(): void {
    this.#asleep = false;
    this.#admitWaiting();
  }

  resetPrefixCache(options = { host: false }): boolean {
    return this.kv.clear(options);
  }

  crash(): void {
    const at = this.#options.clock.now();
    const lost = [...this.#running.keys(), ...this.#admission.takeAll()];
    this.#crashes += 1;
    for (const sequence of lost) this.#end(sequence, 'error', at);
    this.kv.crash();
    this.loras.forgetAll();
    this.encoder.clear();
  }

  #admitWaiting(): void {
    const { clock, sequencesMax } = this.#options;
    const at = clock.now();
    this.#admission.admit(
      () => (!this.#asleep && this.#running.size < sequencesMax ? Number.POSITIVE_INFINITY : 0),
      (sequence, tokens) => this.#start(sequence, tokens, at),
    );
  }

  #receive(sequence: Sequence, tokens: number): void {
    const { clock } = this.#options;
    const waitMs = sequence.isFromPeer ? this.#times.transferMs(sequence.request.promptTokens) : 0;
    const ready = (): void => void clock.setTimer(waitMs, () => this.#arrived(sequence));
    const fail = (): void => {
      if (this.#admission.isReceiving(sequence)) this.#end(sequence, 'error', clock.now());
      // Not now: it may fail at once, while others are admitted.
      clock.setTimer(0, () => this.#admitWaiting());
    };
    if (tokens === 0) ready();
    else sequence.remote?.start(tokens, ready, fail);
  }

  #arrived(sequence: Sequence): void {
    this.#admission.arrived(sequence);
    this.#admitWaiting();
  }

  #start(sequence: Sequence, tokens: number, at: Millis): void {
    const { observer } = this.#options;
    const run: TimedRun = { prefillTokens: tokens, dueAt: at, waitMs: 0, timer: undefined };
    this.#running.set(sequence, run);
    this.loras.join(sequence.request.lora);
    sequence.scheduled(at);
    observer.onScheduled(sequence, at);
    // The time of KV from another engine has passed already.
    if (sequence.remoteKv !== 'here' || !sequence.isFromPeer) {
      run.waitMs = this.#times.prefillMs(tokens, this.#running.size);
    }
    const { media } = sequence.request;
    if (media !== undefined) run.waitMs += this.encoder.encode(media, sequence.computedTokens);
    this.#arm(sequence, run, at);
  }

  #arm(sequence: Sequence, run: TimedRun, from: Millis): void {
    const { clock } = this.#options;
    run.dueAt = from + run.waitMs;
    if (this.#times.hung) return;
    run.timer = clock.setTimer(run.dueAt - clock.now(), () => this.#due(sequence, run));
  }

  /** Gives all tokens that are due. */
  #due(sequence: Sequence, run: TimedRun): void {
    const { clock } = this.#options;
    this.#latenessMs = Math.max(0, clock.now() - run.dueAt);
    for (let tokens = 1; this.#running.get(sequence) === run; tokens++) {
      this.#token(sequence, run);
      if (this.#running.get(sequence) !== run || !this.#prepareNext(sequence, run)) return;
      if (run.dueAt + run.waitMs > clock.now() || tokens === CATCH_UP_TOKENS_MAX) {
        this.#arm(sequence, run, run.dueAt);
        return;
      }
      run.dueAt += run.waitMs;
    }
  }

  /** Takes memory for the next token and draws its time. Returns false where it was preempted. */
  #prepareNext(sequence: Sequence, run: TimedRun): boolean {
    while (!this.kv.extend(sequence, 1)) {
      const victim = [...this.#running.keys()].at(-1) ?? sequence;
      this.#preempt(victim, run.dueAt);
      if (victim === sequence) return false;
    }
    run.waitMs = this.#times.interTokenMs(this.#running.size);
    return true;
  }

  #token(sequence: Sequence, run: TimedRun): void {
    giveToken(sequence, run, this.#options.observer);
    if (sequence.generatedTokens < sequence.request.outputTokens) return;
    this.#end(sequence, sequence.outcome, run.dueAt);
    this.#admitWaiting();
  }

  #preempt(sequence: Sequence, at: Millis): void {
    this.#leaveBatch(sequence);
    this.#admission.preempt(sequence, at);
  }

  #leaveBatch(sequence: Sequence): boolean {
    this.#running.get(sequence)?.timer?.cancel();
    if (!this.#running.delete(sequence)) return false;
    this.loras.leave(sequence.request.lora);
    return true;
  }

  #end(sequence: Sequence, reason: FinishReason, at: Millis): void {
    if (!this.#leaveBatch(sequence)) this.#admission.leave(sequence);
    this.#admission.end(sequence, reason, at);
    sequence.request.onDone?.(reason, sequence.usage, at);
  }
}
