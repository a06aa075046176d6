import type { Redecision } from '../redecide/redecision.ts';

/** One decision of a shadow beside what was done, as a line of the log. `at` in milliseconds since the Unix epoch. */
export function decisionLine(
  shadow: string,
  at: number,
  { n, request, was, is, place, ttftMs }: Redecision,
): string {
  const { id, model, objective, promptTokens, streaming } = request;
  const agrees = 'endpoint' in was && 'endpoint' in is && was.endpoint === is.endpoint;
  const head = { at: Math.round(at), shadow, n, id, model, objective, promptTokens, streaming };
  return `${JSON.stringify({ ...head, was, is, agrees, place, ttftMs })}\n`;
}
