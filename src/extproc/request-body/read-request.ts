import type { FollowedRequest } from '../../framework/following.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RequestHead } from '../../openai/body/body-reader.ts';
import type { PickMutation, StreamAction } from '../codec/stream-action.ts';

/** The head of a session's request, and what follows the request for traces and logs. */
export interface SessionHead extends RequestHead {
  readonly followed?: FollowedRequest;
}

/** A request that is read as far as its pick needs. */
export interface ReadRequest {
  readonly head: SessionHead;
  readonly request: InferenceRequest;
  /** For what reads the body before the pick; empty where the whole body is not at hand. */
  readonly body: readonly Uint8Array[];
  /** In bytes; undefined where the length does not change or is not known. */
  readonly contentLength: number | undefined;
  /** It may go to any endpoint, because there is nothing to decide by. */
  readonly withoutBody?: boolean;
  /** Whether the proxy gives up the response after the pick. */
  readonly halfCloses: boolean;
  /** Answers the proxy once the pick is made. */
  readonly answerPick: (pick: PickMutation) => void;
}

/** A request that is picked by its headers alone: the answer to the pick answers these. */
export function readAtHeaders(
  head: SessionHead,
  request: InferenceRequest,
  {
    emit,
    halfCloses,
  }: {
    readonly emit: (action: StreamAction) => void;
    readonly halfCloses: (request: InferenceRequest) => boolean;
  },
): ReadRequest {
  return {
    head,
    request,
    body: [],
    contentLength: undefined,
    halfCloses: halfCloses(request),
    answerPick: (pick) => emit({ kind: 'answer-request-headers', pick }),
  };
}
