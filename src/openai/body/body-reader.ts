import type { Endpoint } from '../../framework/endpoint.ts';
import { RoutingError } from '../../framework/error.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { AnswerBlocks } from '../answers/answer-blocks.ts';
import type { UsageReader } from '../answers/usage-reader.ts';
import type { BodyEdit } from './body-edit.ts';

export interface RequestHead {
  /** Made by the picker, unique in the process. */
  readonly id: string;
  /** With its query. */
  readonly path: string;
  /** By lower-case name, the last value of each header. */
  readonly headers: ReadonlyMap<string, string>;
}

export interface BodyReader {
  /**
   * Nothing of the body is looked at: the pick needs none of it, and any bytes may pass at once.
   */
  readonly unread?: boolean;
  /** Whether the rest cannot matter: the JSON value is closed, or the body is not read at all. */
  readonly complete: boolean;
  /** The change to make to the body, as far as it is known yet. */
  readonly edit: BodyEdit | undefined;
  /** Throws RoutingError `invalid-request` or `body-too-large` at the first fault. */
  push(chunk: Uint8Array): void;
  /** The request as known so far, for an early pick; its size is estimated by `content-length`. */
  peek(): InferenceRequest;
  /** The whole request. Throws RoutingError `invalid-request` with the fault and its place. */
  end(): InferenceRequest;
  /** The pick is made: what `edit` returned may change, but not in length. */
  routedTo?(endpoint: Endpoint): void;
  /** After `end`: hashes the answer; undefined if a later prompt cannot begin with it. */
  answerBlocks(): AnswerBlocks | undefined;
  /** What finds the usage in the answer. */
  usageReader(): UsageReader;
}

/** Throws RoutingError `body-too-large` if `bodyBytes` is over the bound. */
export function checkBodyBytes(bodyBytes: number, bodyBytesMax: number): void {
  if (!(bodyBytes > bodyBytesMax)) return;
  throw new RoutingError(
    'body-too-large',
    `the request body has ${bodyBytes} bytes or more, over --max-body-bytes ${bodyBytesMax}`,
  );
}
