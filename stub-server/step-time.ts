/** What the engine does in one step. */
export interface StepLoad {
  /** Prompt tokens computed. */
  readonly prefillTokens: number;
  /** Sequences that decode one token each. */
  readonly decodeSequences: number;
  /** Tokens in the KV cache that those sequences attend to. */
  readonly contextTokens: number;
}

/** How long a step takes, in milliseconds of model time. */
export type StepTimeModel = (load: StepLoad) => number;

/** Coefficients of `linearStepTime`, in milliseconds. */
export interface LinearStepTime {
  readonly baseMs: number;
  readonly perPrefillTokenMs: number;
  readonly perDecodeSequenceMs: number;
  readonly perContextTokenMs: number;
}

/** The engine of the policy study: between published regressions of an 8 B model on A100 and H100. */
export const STUDY_ENGINE: LinearStepTime = {
  baseMs: 6,
  perPrefillTokenMs: 0.04,
  perDecodeSequenceMs: 0.05,
  perContextTokenMs: 0.00002,
};

export function linearStepTime(coefficients: LinearStepTime): StepTimeModel {
  const { baseMs, perPrefillTokenMs, perDecodeSequenceMs, perContextTokenMs } = coefficients;
  return ({ prefillTokens, decodeSequences, contextTokens }) =>
    baseMs +
    perPrefillTokenMs * prefillTokens +
    perDecodeSequenceMs * decodeSequences +
    perContextTokenMs * contextTokens;
}
