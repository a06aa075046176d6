import { DEFAULT_OBJECTIVE } from '../../cost-model/capacity.ts';
import { DecayingFit, type FitPrior } from '../../cost-model/decaying-fit.ts';
import { PRIOR_STEP_TIME } from '../../cost-model/step-time.ts';
import type { Millis } from '../../framework/runtime.ts';

/**
 * The fixed time of a step, and how many times as long a prompt takes as by the prior. A large model
 * on an old accelerator is ten times slower, so the prior is weak.
 */
const PRIOR: FitPrior = {
  means: [PRIOR_STEP_TIME.baseMs, 1],
  deviations: [2 * PRIOR_STEP_TIME.baseMs, 2],
};
const LEAST = [0, 0];
/** The standard deviation of one step. */
const STEP_DEVIATION_MS = 10;
/** The weight of the newest answer: about the last twenty count. */
const WEIGHT = 0.05;

/** An answer that has ended at an engine that gives no step both prompts and answers. */
export interface StoppedAnswer {
  /** Its tokens after the first: each took a step. */
  readonly steps: number;
  /** Steps meanwhile in which others got their first tokens. */
  readonly promptSteps: number;
  /** How long the prompts of these take by the prior. */
  readonly promptMs: Millis;
  /** From its first token to its end. */
  readonly ms: Millis;
  /** What each of its tokens may take for its user; undefined where the request does not say it. */
  readonly tpotSloMs: Millis | undefined;
}

/**
 * What steps of their own for prompts cost the answers of one engine. Its answers show the fixed
 * time of a step: they wait for it with each of their own tokens, and with each step for prompts.
 */
export class SeparateSteps {
  readonly #fit = new DecayingFit(PRIOR);
  #fixedMs: Millis = PRIOR_STEP_TIME.baseMs;
  #answers = 0;
  /** The mean duration of a step. */
  #meanMs: Millis = 0;
  /** The share of answers that are late for their users because of the steps for prompts. */
  #lateShare = 0;

  /** The fixed time of a step; that of the prior until an answer has ended. */
  get fixedMs(): Millis {
    return this.#fixedMs;
  }

  observe({ steps, promptSteps, promptMs, ms, tpotSloMs }: StoppedAnswer): void {
    const all = steps + promptSteps;
    const deviation = STEP_DEVIATION_MS * Math.sqrt(all);
    this.#fit.observe([all, promptMs], { value: ms, deviation, fading: WEIGHT });
    this.#fixedMs = this.#fit.solveAbove(LEAST)[0] as number;
    this.#answers += 1;
    this.#meanMs += Math.max(WEIGHT, 1 / this.#answers) * (ms / all - this.#meanMs);
    const dueMs = steps * (tpotSloMs ?? DEFAULT_OBJECTIVE.tpotMs);
    const isLate = ms > dueMs && ms - promptSteps * this.#fixedMs <= dueMs;
    this.#lateShare += WEIGHT * ((isLate ? 1 : 0) - this.#lateShare);
  }

  /**
   * How long a prompt stops each answer by a step that would not be without it, where the newest of
   * the prompts that wait was sent there so long ago: the fixed time, as often as a step has begun
   * since. It counts in the share of answers that are late by such steps. Where answers are in time
   * anyway, or too late anyway, nobody is helped by prompts that wait for each other.
   */
  stopMs(newestSentMs: Millis): Millis {
    if (this.#lateShare === 0) return 0;
    const begunShare = Math.min(1, Math.max(0, newestSentMs) / this.#meanMs);
    return this.#lateShare * this.#fixedMs * begunShare;
  }
}
