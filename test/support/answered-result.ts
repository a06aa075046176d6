import type { RequestResult } from '../../src/lab/run-summary/run-result.ts';

/** A request whose first token comes after 100 ms and each further one 10 ms later. */
export function answeredResult(outputTokens: number): RequestResult {
  return {
    request: { atMs: 0, promptTokens: 64, outputTokens },
    server: 0,
    attempts: 1,
    ttftMs: 100,
    e2eMs: 100 + 10 * (outputTokens - 1),
    cachedTokens: 0,
    completed: true,
  };
}
