import type { Endpoint } from '../../framework/endpoint.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { CaptureLines, Hidden } from './capture-lines.ts';
import type { EventClock } from './event-clock.ts';

export interface TappedParts {
  readonly clock: EventClock;
  readonly lines: CaptureLines;
  readonly hide: (request: InferenceRequest) => Hidden;
}

/** A routed request all of whose events are told before they happen. */
export class TappedRequest implements RoutedRequest {
  readonly #parts: TappedParts;
  readonly #routed: RoutedRequest;
  readonly #n: number;
  #begun = false;
  #over = false;
  /** A capture is for other configurations, too. */
  readonly hearsAnswer = true;

  constructor(parts: TappedParts, routed: RoutedRequest, n: number) {
    this.#parts = parts;
    this.#routed = routed;
    this.#n = n;
  }

  get request(): InferenceRequest {
    return this.#routed.request;
  }

  get endpoint(): Endpoint {
    return this.#routed.endpoint;
  }

  get destinations(): readonly string[] {
    return this.#routed.destinations;
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#routed.headers;
  }

  responseHeaders(): ReadonlyMap<string, string> {
    return this.#routed.responseHeaders();
  }

  /** Said of each piece of an answer; the first is the token. */
  firstToken(): void {
    if (this.#begun || this.#over) return;
    this.#begun = true;
    const { clock, lines } = this.#parts;
    clock.during((t) => {
      lines.firstToken(t, this.#n);
      this.#routed.firstToken();
    });
  }

  served(address: string): void {
    const { clock, lines } = this.#parts;
    clock.during((t) => {
      lines.served(t, this.#n, address);
      this.#routed.served(address);
    });
  }

  bodyRead(request: InferenceRequest): void {
    const { clock, lines, hide } = this.#parts;
    clock.during((t) => {
      lines.bodyRead(t, this.#n, request, hide(request));
      this.#routed.bodyRead(request);
    });
  }

  answered(conversation: PromptBlocks): void {
    const { clock, lines } = this.#parts;
    clock.during((t) => {
      lines.answered(t, this.#n, conversation);
      this.#routed.answered(conversation);
    });
  }

  /** Said again when the stream of an answered request is closed, which means nothing any more. */
  done(outcome: Outcome, usage?: Usage, responseBytes?: number): void {
    if (this.#over) return;
    this.#over = true;
    const { clock, lines } = this.#parts;
    clock.during((t) => {
      lines.done(t, this.#n, outcome, usage, responseBytes);
      this.#routed.done(outcome, usage, responseBytes);
    });
  }
}
