import type { Endpoint } from '../framework/endpoint.ts';
import type { Outcome, RequestObserver, Routed, Usage } from '../framework/observer.ts';
import type { ResponseMarker } from '../framework/plugin.ts';
import type { InferenceRequest, PromptBlocks } from '../framework/request.ts';
import type { RoutedRequest } from '../framework/routing.ts';
import type { Millis, Runtime, Timer } from '../framework/runtime.ts';
import type { Decision } from '../framework/scheduling.ts';
import type { EndpointPool } from './endpoint-pool.ts';
import type { Reservation } from './ledger.ts';

export interface TicketParts {
  readonly routed: Routed;
  readonly result: Decision;
  readonly reservation: Reservation;
  /** When a response whose end nobody sees is taken to be over; undefined where it is seen. */
  readonly endsAt: Millis | undefined;
  readonly pool: EndpointPool;
  readonly runtime: Runtime;
  readonly hearers: readonly RequestObserver[];
  readonly markers: readonly ResponseMarker[];
}

/** One routed request until its end. Whatever is said after the end, or twice, has no effect. */
export class Ticket implements RoutedRequest {
  readonly #parts: TicketParts;
  #prefillTimer: Timer | undefined;
  #prefilled = false;
  #open = true;
  #ending = false;
  #served: Endpoint;
  #reported: string | undefined;

  constructor(parts: TicketParts) {
    this.#parts = parts;
    this.#served = parts.routed.endpoint;
    for (const hearer of parts.hearers) hearer.onRouted?.(parts.routed);
  }

  get request(): InferenceRequest {
    return this.#parts.routed.request;
  }

  get endpoint(): Endpoint {
    return this.#parts.routed.endpoint;
  }

  get destinations(): readonly string[] {
    const { primary, destinations } = this.#parts.result;
    if (destinations !== undefined) return destinations;
    return primary.kind === 'picked' ? primary.targets.map(({ endpoint }) => endpoint.address) : [];
  }

  responseHeaders(): ReadonlyMap<string, string> {
    const { markers, result } = this.#parts;
    return new Map(
      markers.flatMap((marker) => [
        ...(marker.responseHeaders?.(this.#served, result, this.#reported) ?? []),
      ]),
    );
  }

  get headers(): ReadonlyMap<string, string> {
    return this.#parts.result.headers;
  }

  /** Where no first token can be seen, the prefill is taken as done when the model says it should be. */
  expectPrefill(ttftMs: number): void {
    this.#prefillTimer = this.#parts.runtime.clock.setTimer(ttftMs, () =>
      this.#parts.reservation.prefilled(),
    );
  }

  firstToken(): void {
    if (!this.#open || this.#prefilled) return;
    this.#prefilled = true;
    this.#parts.reservation.prefilled();
    const at = this.#parts.runtime.clock.now();
    for (const hearer of this.#parts.hearers) hearer.onFirstToken?.(this.#parts.routed, at);
  }

  served(address: string): void {
    if (!this.#open) return;
    this.#reported = address;
    if (address === this.destinations[0]) return;
    const { pool, reservation, result } = this.#parts;
    const { primary } = result;
    const place = this.destinations.indexOf(address);
    const target = primary.kind === 'picked' ? primary.targets[place]?.endpoint : undefined;
    const actual = target ?? pool.snapshot().find((endpoint) => endpoint.address === address);
    if (actual === undefined) return;
    this.#served = actual;
    reservation.moveTo(actual);
  }

  bodyRead(request: InferenceRequest): void {
    if (!this.#open) return;
    for (const hearer of this.#parts.hearers) hearer.onBodyRead?.(this.#parts.routed, request);
  }

  get hearsAnswer(): boolean {
    return this.#parts.hearers.some((hearer) => hearer.onAnswered !== undefined);
  }

  answered(conversation: PromptBlocks): void {
    if (!this.#open) return;
    for (const hearer of this.#parts.hearers) hearer.onAnswered?.(this.#parts.routed, conversation);
  }

  done(outcome: Outcome, usage?: Usage, responseBytes?: number): void {
    if (this.#ending) return;
    this.#ending = true;
    const { endsAt, runtime } = this.#parts;
    const leftMs = outcome === 'completed' ? (endsAt ?? 0) - runtime.clock.now() : 0;
    if (leftMs > 0)
      runtime.clock.setTimer(leftMs, () => this.#settle(outcome, usage, responseBytes));
    else this.#settle(outcome, usage, responseBytes);
  }

  #settle(outcome: Outcome, usage: Usage | undefined, responseBytes?: number): void {
    if (!this.#open) return;
    this.#open = false;
    this.#prefillTimer?.cancel();
    this.#parts.reservation.release();
    const at = this.#parts.runtime.clock.now();
    for (const hearer of this.#parts.hearers)
      hearer.onDone?.(this.#parts.routed, at, outcome, usage, responseBytes);
  }
}
