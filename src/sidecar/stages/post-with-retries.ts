import { messageOf } from '../../framework/error.ts';
import type { Clock, Millis } from '../../framework/runtime.ts';
import type { JsonObject } from '../../openai/json/json-object.ts';
import type { Leg } from '../contracts/kv-contract.ts';
import type { Exchange } from '../exchange/sidecar-parts.ts';
import { postJson, StatusError } from '../servers/post-json.ts';

interface Attempts {
  /** The prefilling server, `host:port`. */
  readonly server: string;
  readonly leg: Leg;
  /** What is sent instead from the second time on. */
  readonly legAgain: Leg;
  readonly signal: AbortSignal;
}

/** Answers of a server, or of a proxy before it, that has too much to do for a moment. */
const PASSING: ReadonlySet<number> = new Set([502, 503, 504]);

/**
 * Asks the same server again after failures that may pass: some status codes, and connections that
 * break or do not come about. Rejects with the last failure, and when the signal aborts.
 */
export async function postWithRetries(
  { server, leg, legAgain, signal }: Attempts,
  { options, upstreams, headers, request, log }: Exchange,
): Promise<JsonObject> {
  const { prefillRetries, prefillRetryBackoffMs, clock } = options;
  for (let retry = 1; ; retry++) {
    const { body, headers: own } = retry === 1 ? leg : legAgain;
    try {
      return await postJson(upstreams, 'prefiller', {
        server,
        path: request.url ?? '/',
        body: body.pieces,
        headers: { ...headers, ...own },
        signal,
      });
    } catch (error) {
      if (retry > prefillRetries || signal.aborted || !mayPass(error)) throw error;
      log('retry', `prefill at ${server} is tried again: ${messageOf(error)}`);
    }
    await pause(clock, prefillRetryBackoffMs, signal);
  }
}

function mayPass(error: unknown): boolean {
  if (error instanceof StatusError) return PASSING.has(error.status);
  // Errors of a connection have a code; an answer that cannot be used has none.
  return error instanceof Error && 'code' in error;
}

function pause(clock: Clock, delayMs: Millis, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.setTimer(delayMs, resolve);
    signal.addEventListener(
      'abort',
      () => {
        timer.cancel();
        reject(signal.reason as Error);
      },
      { once: true },
    );
  });
}
