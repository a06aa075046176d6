import type { InferenceRequest } from '../../framework/request.ts';
import type { Millis } from '../../framework/runtime.ts';
import { goDuration } from '../../framework/values/go-duration.ts';

/** The longest time that the client waits, as a duration in Go's notation. */
const TTL_HEADER = 'x-llm-d-inference-ttl';

/**
 * The configured time, or the client's where that is shorter. Text that is no time has no effect.
 */
export function requestTtlMs({ headers }: InferenceRequest, configuredMs: Millis): Millis {
  const given = headers.get(TTL_HEADER);
  const wanted = given === undefined ? undefined : goDuration(given);
  return wanted === undefined || wanted <= 0 ? configuredMs : Math.min(configuredMs, wanted);
}
