import { messageOf } from '../../framework/error.ts';
import { TimeoutError } from '../../runtime/clock/deadline.ts';
import type { EngineAnswer } from '../answers/engine-answer.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import type { LegStage } from '../options/sidecar-options.ts';

export const SERVER_ERROR = 500;

/** Counts and logs a stage that is left to the engine. Throws where the client has gone. */
export function fallBack(
  stage: LegStage,
  error: unknown,
  { metrics, log, signal }: Pick<Exchange, 'metrics' | 'log' | 'signal'>,
  what: string,
): void {
  signal.throwIfAborted();
  metrics.onFallBack(stage, error instanceof TimeoutError ? 'timeout' : 'failed');
  log(stage, `${what}: ${messageOf(error)}`);
}

/**
 * What other servers computed was lost. Nothing has been answered yet, so the prompt can still be
 * computed here.
 */
export function fallBackToHere(
  { statusCode, body }: EngineAnswer,
  exchange: Exchange,
  here: () => Promise<EngineAnswer>,
): Promise<EngineAnswer> {
  body.on('error', () => undefined).destroy();
  const answered = new Error(`answered ${statusCode}`);
  fallBack('decode', answered, exchange, 'decode with transferred KV failed, computing here');
  return here();
}
