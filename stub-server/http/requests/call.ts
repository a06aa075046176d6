import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { Millis } from '../../../src/framework/runtime.ts';
import { ApiError } from '../replica/api-error.ts';
import type { StubReplica } from '../replica/stub-replica.ts';
import type { LongTexts } from './long-texts.ts';
import type { ReplicaDirectory } from './sequence-kv.ts';

/** A request of a generating API, apart from its body. */
export interface GenerateCall {
  readonly replica: StubReplica;
  readonly findReplica: ReplicaDirectory;
  readonly requestId: string;
  readonly headers: IncomingHttpHeaders;
  /** When the whole request was received, in model time. */
  readonly receivedAt: Millis;
}

/** Sets the exact number of output tokens, for tests. */
const FORCED_TOKENS_HEADER = 'x-stub-output-tokens';
/** llm-d-inference-sim's header for the status of an error. */
const ERROR_HEADER = 'x-return-error';
/** llm-d-inference-sim's header for an answer without tokens. */
const CACHE_THRESHOLD_HEADER = 'x-cache-threshold-finish-reason';

export function forcedTokens(headers: IncomingHttpHeaders): number | undefined {
  const text = headers[FORCED_TOKENS_HEADER];
  if (text === undefined) return undefined;
  const tokens = Number(text);
  if (Number.isInteger(tokens) && tokens > 0) return tokens;
  const value = String(text);
  throw new ApiError(400, `${FORCED_TOKENS_HEADER}: ${value} is not a positive whole number`);
}

/** The error that a request asks for by its header, if it does. Throws ApiError for a wrong one. */
export function askedError(headers: IncomingHttpHeaders): ApiError | undefined {
  const text = headers[ERROR_HEADER];
  if (text === undefined) return undefined;
  const status = Number(text);
  if (Number.isInteger(status) && status >= 400 && status <= 599) {
    return new ApiError(status, `the header ${ERROR_HEADER} asked for this error`);
  }
  return new ApiError(400, `${ERROR_HEADER}: ${String(text)} is no status from 400 to 599`);
}

export function asksForCacheThreshold(headers: IncomingHttpHeaders): boolean {
  return headers[CACHE_THRESHOLD_HEADER] === 'true';
}

/** A request whose body is read. */
export interface Call extends GenerateCall {
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The body's bytes. Valid only until the route returns. */
  readonly body: Buffer;
  /** Parses the body as JSON. Throws ApiError. */
  readonly json: () => unknown;
  /** The same body as `json`, but long prompts stay outside the JSON; for the generating APIs. */
  readonly longTexts: () => LongTexts;
}

/** Returns the JSON of a 200 answer, or undefined if it answers itself. Throws ApiError. */
export type Route = (call: Call) => object | undefined;
