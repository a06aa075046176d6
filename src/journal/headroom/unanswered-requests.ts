import { type Endpoint, type EndpointId, isFresh } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';

/** Requests that one server lost as it crashed can fail together; so many and more are no chance. */
const FAILED_MIN = 5;
/** Other servers that work begin or end an answer within such a time. */
const UNANSWERED_MS: Millis = 2000;
/** Longer ago than that a failure says nothing: without requests no server can answer. */
const FAILED_FOR_MS: Millis = 60_000;

/** Whether requests fail at all servers, also where their metrics can be had. */
export class UnansweredRequests {
  #failed = 0;
  /** Where they failed since the last answer. */
  readonly #failing = new Set<EndpointId>();
  #failedAt: Millis = Number.NEGATIVE_INFINITY;
  #answeredAt: Millis = Number.NEGATIVE_INFINITY;

  /** A first token has come, or a whole answer. */
  answered(at: Millis): void {
    this.#answeredAt = at;
    if (this.#failed === 0) return;
    this.#failed = 0;
    this.#failing.clear();
  }

  failed(id: EndpointId, at: Millis): void {
    this.#failed += 1;
    this.#failing.add(id);
    this.#failedAt = at;
  }

  /** Whether none of these serves anything now; `isEjected` says which get no requests. */
  fail(
    endpoints: readonly Endpoint[],
    isEjected: (endpoint: Endpoint) => boolean,
    at: Millis,
  ): boolean {
    const isUnanswered =
      this.#failed >= FAILED_MIN &&
      at - this.#failedAt < FAILED_FOR_MS &&
      at - this.#answeredAt >= UNANSWERED_MS;
    return endpoints.every(
      (each) =>
        isEjected(each) || (isUnanswered && (this.#failing.has(each.id) || !isFresh(each, at))),
    );
  }
}
