import type { Millis, Timer } from '../../src/framework/runtime.ts';
import type { EngineObserver } from './engine-observer.ts';
import type { StepLoad } from './latency-model.ts';
import type { Sequence } from './sequence.ts';

/** A sequence with memory, on its way to its next token. */
export interface TimedRun {
  /** Tokens of prompt to compute before the next token; 0 while it decodes. */
  prefillTokens: number;
  dueAt: Millis;
  waitMs: Millis;
  timer: Timer | undefined;
}

const DECODE: StepLoad = {
  prefillTokens: 0,
  prefillSequences: 0,
  decodeSequences: 1,
  contextTokens: 0,
  attendedSquares: 0,
};

/** Gives a sequence the token that is due. */
export function giveToken(sequence: Sequence, run: TimedRun, observer: EngineObserver): void {
  const { prefillTokens, dueAt: at, waitMs } = run;
  sequence.computedTokens += Math.max(1, prefillTokens);
  if (prefillTokens > 0) {
    const load = { ...DECODE, decodeSequences: 0, prefillTokens, prefillSequences: 1 };
    observer.onStep(load, waitMs, at);
    observer.onPrefilled(sequence, at);
  } else observer.onStep(DECODE, waitMs, at);
  run.prefillTokens = 0;
  sequence.giveToken(at);
}
