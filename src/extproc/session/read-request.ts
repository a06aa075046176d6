import type { FollowedRequest } from '../../framework/following.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RequestHead } from '../../openai/body/body-reader.ts';
import type { PickMutation } from '../codec/stream-action.ts';
import type { RequestPhaseOptions } from './request-phase-options.ts';

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
  /** Answers the proxy once the pick is made. */
  readonly answer: (pick: PickMutation) => void;
}

/** A POST without a body has an empty one, which some paths refuse; others have none. */
export function readWithoutBody(
  head: SessionHead,
  { openBody, headerOnly }: Pick<RequestPhaseOptions, 'openBody' | 'headerOnly'>,
): InferenceRequest {
  return head.headers.get(':method') === 'POST' ? openBody(head).end() : headerOnly(head);
}
