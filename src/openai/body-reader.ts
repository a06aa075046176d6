import type { InferenceRequest } from '../framework/request.ts';
import type { AnswerBlocks } from './answer-blocks.ts';
import type { BodyEdit } from './body-edit.ts';

export interface RequestHead {
  /** Ours, unique in the process. */
  readonly id: string;
  /** As sent, query included. */
  readonly path: string;
  /** Lower-case names; of a repeated header the last value. */
  readonly headers: ReadonlyMap<string, string>;
}

/** Reads one request's body as its chunks arrive. Keeps no reference to a chunk after `push` unless it must. */
export interface BodyReader {
  /** Nothing more that matters can come: the JSON value is closed, or the body is not read at all. */
  readonly complete: boolean;
  /** What is to be changed in the body before it leaves, as far as that is known. */
  readonly edit: BodyEdit | undefined;
  /** Throws RoutingError (`invalid-request`, `body-too-large`) as soon as the fault can be known. */
  push(chunk: Uint8Array): void;
  /** What is known before the end, for an early pick; sizes not yet seen are estimated from `content-length`. */
  peek(): InferenceRequest;
  /** Throws RoutingError `invalid-request` with a sentence that says what is wrong and where. */
  end(): InferenceRequest;
  /** After `end`: for hashing the answer to this request; undefined where no later prompt is known to begin with it. */
  answerBlocks(): AnswerBlocks | undefined;
}
