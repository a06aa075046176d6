import type { RoutingError } from '../framework/error.ts';
import type { FollowedHead, FollowedRequest, FollowRequest } from '../framework/following.ts';
import { TO_CORE } from './operations.ts';
import { writeHeaders } from './request-facts.ts';
import type { TurnOutbox } from './turn-outbox.ts';

/** Follows the requests of an I/O worker in the deciding thread, which writes traces and logs. */
export class RemoteFollowing {
  readonly #outbox: TurnOutbox;
  readonly #open = new Map<string, RemoteFollowed>();

  constructor(outbox: TurnOutbox) {
    this.#outbox = outbox;
  }

  readonly follow: FollowRequest = (head, parent) => {
    const { writer } = this.#outbox;
    writer.put(TO_CORE.followed, head.id, parent);
    writeHeaders(writer, head.headers);
    const followed = new RemoteFollowed(head, this.#outbox, () => this.#open.delete(head.id));
    this.#open.set(head.id, followed);
    return followed;
  };

  /** The deciding thread has begun a trace; it says so with the pick. */
  setTraceparent(id: string, traceparent: string): void {
    const followed = this.#open.get(id);
    if (followed !== undefined) followed.traceparent = traceparent;
  }
}

class RemoteFollowed implements FollowedRequest {
  traceparent: string | undefined;
  /**
   * Only the deciding thread knows the trace, and finds it by this when it writes a line of the
   * log.
   */
  readonly traceId: string;
  readonly #head: FollowedHead;
  readonly #outbox: TurnOutbox;
  readonly #onClosed: () => void;

  constructor(head: FollowedHead, outbox: TurnOutbox, onClosed: () => void) {
    this.traceId = head.id;
    this.#head = head;
    this.#outbox = outbox;
    this.#onClosed = onClosed;
  }

  /** The request itself comes with the question for its pick. */
  bodyRead(): void {}

  refused({ code, sentence }: RoutingError): void {
    this.#outbox.writer.put(TO_CORE.followedRefused, this.#head.id, code, sentence);
  }

  closed(status: number | undefined): void {
    this.#onClosed();
    this.#outbox.writer.put(TO_CORE.followedClosed, this.#head.id, status);
  }
}
