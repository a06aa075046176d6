import type { InferenceRequest } from './request.ts';

/** How a configuration estimates the tokens of answers that have not come yet. */
export interface OutputEstimate {
  /**
   * Tokens of the answer for each token of the prompt. Left out: the request itself says how long
   * its answer will be.
   */
  readonly ratio?: number | undefined;
  /** The most that is counted; left out for no bound. */
  readonly max?: number | undefined;
}

/** What a request without a sign of its answer's length counts as, and those with one. */
const [SHORT_TOKENS, USUAL_TOKENS, LONG_TOKENS] = [100, 1000, 4096];
/** A limit below these makes an answer short, or no long one. */
const [SHORT_MAX, LONG_MIN] = [500, 2000];

/** The tokens that are counted for an answer: at most as many as the client asks for. */
export function estimatedOutputTokens(
  request: InferenceRequest,
  { ratio, max = Number.POSITIVE_INFINITY }: OutputEstimate,
): number {
  if (ratio === undefined) return Math.min(tokensByLength(request), max);
  const { promptTokens, outputTokensMax = Number.POSITIVE_INFINITY } = request;
  return Math.min(Math.round(promptTokens * ratio), outputTokensMax, max);
}

/**
 * The numbers and bounds of the reference's `outlen-bucket` and of its producer of loads. A limit
 * of 0 is none.
 */
function tokensByLength({ answerLength, outputTokensMax }: InferenceRequest): number {
  const limit = outputTokensMax || Number.POSITIVE_INFINITY;
  if (answerLength === 'short' || limit < SHORT_MAX) return Math.min(SHORT_TOKENS, limit);
  const isLong = answerLength === 'long' && limit >= LONG_MIN;
  return Math.min(isLong ? LONG_TOKENS : USUAL_TOKENS, limit);
}
