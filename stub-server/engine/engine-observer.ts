import type { Millis } from '../../src/framework/runtime.ts';
import type { StepLoad } from './latency-model.ts';
import type { FinishReason, Sequence } from './sequence.ts';

/**
 * Receives the events of an engine, with times in model time. The engine calls it inside a step, so
 * each call must be O(1). It must not keep a `StepLoad`: the next step overwrites it.
 */
export interface EngineObserver {
  /** The API server has received the request. */
  onArrived(sequence: Sequence, at: Millis): void;
  /** The first step begins, also again after a preemption; `scheduledAt` is then unchanged. */
  onScheduled(sequence: Sequence, at: Millis): void;
  onPreempted(sequence: Sequence, at: Millis): void;
  /**
   * A step ended at `at`. Each of the `load.decodeSequences` sequences got one token, `durationMs`
   * after the one before. There is no call for each of these tokens.
   */
  onStep(load: StepLoad, durationMs: Millis, at: Millis): void;
  /**
   * A prefill is complete and has given a token: the first one if `generatedTokens` is 1, else the
   * first one after a preemption. `lastTokenAt` is still the time of the token before.
   */
  onPrefilled(sequence: Sequence, at: Millis): void;
  /** A request has ended, and its counts and times are final. Also for one that never ran. */
  onFinished(sequence: Sequence, reason: FinishReason, at: Millis): void;
}
