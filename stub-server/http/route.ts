import type { ServerResponse } from 'node:http';
import type { GenerateCall } from './generate-call.ts';
import type { LongTexts } from './long-texts.ts';

/** A request whose body is read. */
export interface Call extends GenerateCall {
  readonly response: ServerResponse;
  readonly query: URLSearchParams;
  /** The body's bytes. Valid only until the route returns. */
  readonly body: Buffer;
  /** Parses the body as JSON. Throws ApiError. */
  readonly json: () => unknown;
  /** As `json`, but long prompts stay outside the JSON; for the generating APIs. */
  readonly longTexts: () => LongTexts;
}

/** Returns the JSON of a 200 answer, or undefined if it answers itself. Throws ApiError. */
export type Route = (call: Call) => object | undefined;
