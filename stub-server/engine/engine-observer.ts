import type { Millis } from '../../src/framework/runtime.ts';
import type { StepLoad } from './latency-model.ts';
import type { FinishReason, Sequence } from './sequence.ts';

/** Receives engine events, in model time. Calls must be O(1) and not keep the reused `StepLoad`. */
export interface EngineObserver {
  onArrived(sequence: Sequence, at: Millis): void;
  /** The first step begins, also again after a preemption; `scheduledAt` is then unchanged. */
  onScheduled(sequence: Sequence, at: Millis): void;
  onPreempted(sequence: Sequence, at: Millis): void;
  /** A step of `durationMs` ended and gave a token to each of `load.decodeSequences` sequences. */
  onStep(load: StepLoad, durationMs: Millis, at: Millis): void;
  /** A prefill gives the first token, or one after a preemption, which is not counted yet. */
  onPrefilled(sequence: Sequence, at: Millis): void;
  /** Counts and times are final. Also for a request that never ran. */
  onFinished(sequence: Sequence, reason: FinishReason, at: Millis): void;
}
