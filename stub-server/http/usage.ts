export interface TokenUsage {
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly cachedTokens: number;
}

/** The `usage` object of both APIs. */
export function usageObject({ promptTokens, completionTokens, cachedTokens }: TokenUsage): object {
  return {
    prompt_tokens: promptTokens,
    total_tokens: promptTokens + completionTokens,
    completion_tokens: completionTokens,
    // vLLM leaves the details out when nothing was cached.
    prompt_tokens_details: cachedTokens === 0 ? null : { cached_tokens: cachedTokens },
  };
}
