import type { InferenceRequest } from './request.ts';

/** By what a configuration counts the tokens of answers that have not come yet. */
export interface OutputEstimate {
  /** Tokens of the answer for each token of the prompt. */
  readonly ratio: number;
  /** The most that is counted; left out for no bound. */
  readonly max?: number | undefined;
}

/** The tokens that are counted for an answer: at most as many as the client asks for. */
export function estimatedOutputTokens(
  { promptTokens, outputTokensMax = Number.POSITIVE_INFINITY }: InferenceRequest,
  { ratio, max = Number.POSITIVE_INFINITY }: OutputEstimate,
): number {
  return Math.min(Math.round(promptTokens * ratio), outputTokensMax, max);
}
