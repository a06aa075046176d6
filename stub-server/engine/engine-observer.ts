import type { Millis } from '../../src/framework/runtime.ts';
import type { StepLoad } from './latency-model.ts';
import type { FinishReason, Sequence } from './sequence.ts';

/**
 * What an engine tells whoever counts. Times are model time. Called inside the step: each call must be O(1) and must
 * not keep a `StepLoad`, which the next step overwrites.
 */
export interface EngineObserver {
  /** The API server has taken it. */
  onArrived(sequence: Sequence, at: Millis): void;
  /** Its first step begins; after a preemption it is called again, with `scheduledAt` unchanged. */
  onScheduled(sequence: Sequence, at: Millis): void;
  onPreempted(sequence: Sequence, at: Millis): void;
  /**
   * A step ended at `at`. Each of `load.decodeSequences` sequences has got one token, `durationMs` after its last one:
   * they are told here, all at once, and nowhere else.
   */
  onStep(load: StepLoad, durationMs: Millis, at: Millis): void;
  /**
   * A prefill is complete and has given a token: the first, when `generatedTokens` is 1, or the next one after a
   * preemption. `lastTokenAt` is still that of the token before.
   */
  onPrefilled(sequence: Sequence, at: Millis): void;
  /** The end, `generatedTokens` and `lastTokenAt` being final. Also for what never ran. */
  onFinished(sequence: Sequence, reason: FinishReason, at: Millis): void;
}
