import { RoutingError } from '../framework/error.ts';
import type { FollowedRequest, FollowRequest } from '../framework/following.ts';
import type { InferenceRequest } from '../framework/request.ts';
import type { BatchReader } from './batch.ts';
import { readHeaders } from './request-facts.ts';

/** Requests of one I/O worker whose trace or line in the access log is written. */
export class CoreFollowing {
  readonly #follow: FollowRequest | undefined;
  readonly #open = new Map<string, FollowedRequest>();

  constructor(follow: FollowRequest | undefined) {
    this.#follow = follow;
  }

  traceparentOf({ id }: InferenceRequest): string | undefined {
    return this.#open.get(id)?.traceparent;
  }

  traceIdOf(id: string): string | undefined {
    return this.#open.get(id)?.traceId;
  }

  bodyRead(request: InferenceRequest): void {
    this.#open.get(request.id)?.bodyRead(request);
  }

  begin(reader: BatchReader): void {
    const id = reader.next<string>();
    const parent = reader.next<string | undefined>();
    const headers = readHeaders(reader);
    if (this.#follow !== undefined) this.#open.set(id, this.#follow({ id, headers }, parent));
  }

  refused(reader: BatchReader): void {
    const id = reader.next<string>();
    const error = new RoutingError(reader.next(), reader.next());
    this.#open.get(id)?.refused(error);
  }

  closed(reader: BatchReader): void {
    const id = reader.next<string>();
    const status = reader.next<number | undefined>();
    const followed = this.#open.get(id);
    this.#open.delete(id);
    followed?.closed(status);
  }

  /** The worker is gone, and its streams with it. */
  close(): void {
    for (const followed of this.#open.values()) followed.closed(undefined);
    this.#open.clear();
  }
}
