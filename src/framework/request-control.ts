import type { Endpoint } from './endpoint.ts';
import type { Decision, SchedulingContext } from './scheduling.ts';

/** A request whose body has no part in the answer, such as a GET. */
export interface RequestLine {
  readonly method: string;
  /** With its query. */
  readonly path: string;
}

/** An answer that the picker itself gives. */
export interface LocalResponse {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** Thrown in place of a pick where the picker itself answers. */
export class LocalAnswer extends Error {
  readonly response: LocalResponse;

  constructor(response: LocalResponse) {
    super('the picker itself answers this request');
    this.response = response;
  }
}

/** What a data source may do to a request before and after its decision, all of it synchronous. */
export interface RequestControl {
  /**
   * The fairness id of a request whose client names none, by its headers; undefined for none. Names
   * of headers are in lower case.
   */
  fairnessId?(headers: ReadonlyMap<string, string>): string | undefined;
  /**
   * Keeps the endpoints that may serve the request, in their order, before any profile runs. Each
   * source gets the same candidates, and an endpoint remains if all sources keep it. What it
   * throws, but a RoutingError, has no effect.
   */
  screen?(endpoints: readonly Endpoint[], context: SchedulingContext): readonly Endpoint[];
  /**
   * Answers a request without a body in place of a model server; undefined for any other. Gets the
   * whole pool. Throws RoutingError where it should answer and cannot.
   */
  respond?(request: RequestLine, endpoints: readonly Endpoint[]): LocalResponse | undefined;
  /**
   * Requests with `Prefer: reserve-endpoint` are answered with the endpoint of their pick alone.
   */
  readonly answersEndpointOnly?: true;
  /** Refuses the request by throwing a RoutingError. Gets the endpoints that are left. */
  admit?(endpoints: readonly Endpoint[], context: SchedulingContext): void;
  /**
   * Further headers for the model server. Names are in lower case; a name that the decision has
   * already keeps the decision's value.
   */
  requestHeaders?(
    decision: Decision,
    endpoints: readonly Endpoint[],
    context: SchedulingContext,
  ): Iterable<readonly [name: string, value: string]>;
}
