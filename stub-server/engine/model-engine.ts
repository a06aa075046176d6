import type { Millis } from '../../src/framework/runtime.ts';
import type { Encoder } from './encoder.ts';
import type { KvCache } from './kv-cache/kv-cache.ts';
import type { LoraSlots } from './lora-slots.ts';
import type { Sequence, SequenceRequest, Submission } from './sequence.ts';
import type { Speculation } from './speculation.ts';

/** What a server needs of its engine, whichever way the engine takes its times. */
export interface ModelEngine {
  readonly kv: KvCache;
  readonly loras: LoraSlots;
  readonly speculation: Speculation | undefined;
  readonly encoder: Encoder;
  readonly runningCount: number;
  readonly waitingCount: number;
  /** Maximum tokens of one sequence, prompt and output, whose KV fits in memory. */
  readonly contextTokensMax: number;
  /** How late the process completed the last step, in model time. */
  readonly latenessMs: Millis;
  readonly asleep: boolean;
  /** From now on everything takes `factor` times as long; Infinity: the accelerator hangs. */
  slowdown: number;
  forEachWaiting(visit: (sequence: Sequence) => void): void;
  submit(request: SequenceRequest): Submission;
  /** Begins no work until `wakeUp`. The KV cache is lost, as at each of vLLM's sleep levels. */
  sleep(): void;
  wakeUp(): void;
  /**
   * Returns false, and changes nothing, while a sequence holds a block. `host`: host memory, too.
   */
  resetPrefixCache(options?: { readonly host: boolean }): boolean;
  /** Ends all requests with `error` and loses cache and adapters. The engine is then as new. */
  crash(): void;
}
