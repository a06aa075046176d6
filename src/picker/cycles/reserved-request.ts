import type { Endpoint, LoadReport } from '../../framework/endpoint.ts';
import { CONTEXT_WINDOW } from '../../framework/endpoint-attributes.ts';
import type { Outcome, Usage } from '../../framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Millis, Timer } from '../../framework/runtime.ts';
import { type ScoredEndpoint, scoredOf } from '../../framework/scheduling.ts';
import type { Ending } from '../events/request-observers.ts';
import type { OpenReservation } from '../load/open-reservations.ts';
import { addedHeaders, countedUsage, reportedValues } from './answer-additions.ts';
import { headersWithRank, targetsOf } from './rank-destinations.ts';
import type { ReservedRequestParts } from './reserved-request-parts.ts';

/** One routed request. Calls after `done`, and a second first token, have no effect. */
export class ReservedRequest implements RoutedRequest, OpenReservation {
  older: OpenReservation | undefined;
  newer: OpenReservation | undefined;
  readonly #parts: ReservedRequestParts;
  #prefillTimer: Timer | undefined;
  #unseenTimer: Timer | undefined;
  #streams: boolean;
  #firstTokenSeen = false;
  #ended = false;
  #servedBy: Endpoint;
  /** The address that the proxy reports. */
  #reported: string | undefined;
  #destinations: readonly string[] | undefined;

  constructor(parts: ReservedRequestParts) {
    this.#parts = parts;
    this.#servedBy = parts.routed.endpoint;
    this.#streams = parts.routed.request.streaming;
  }

  /** Reports it to the observers. To be called once, before anything else. */
  publish(): void {
    this.#parts.observers.routed(this.#parts.routed);
  }

  get at(): Millis {
    return this.#parts.routed.at;
  }

  /** How long its first token was expected to take when it was sent. */
  get expectedTtftMs(): Millis {
    return this.#parts.routed.expectedTtftMs ?? 0;
  }

  get request(): InferenceRequest {
    return this.#parts.routed.request;
  }

  get endpoint(): Endpoint {
    return this.#parts.routed.endpoint;
  }

  get destinations(): readonly string[] {
    // Asked for once as it is sent, and once for each address that the proxy reports.
    this.#destinations ??=
      this.#parts.decision.destinations ?? this.#targets.map(({ address }) => address);
    return this.#destinations;
  }

  get scored(): readonly ScoredEndpoint[] {
    const { primary } = this.#parts.decision;
    if (primary.kind !== 'picked') return [];
    return primary.run === undefined ? primary.targets : scoredOf(primary.run);
  }

  get headers(): ReadonlyMap<string, string> {
    return headersWithRank(this.#parts.decision, this.endpoint);
  }

  responseHeaders(): ReadonlyMap<string, string> {
    const { responseHeaderPlugins, decision, faults } = this.#parts;
    const answeredBy = { endpoint: this.#servedBy, reported: this.#reported };
    return addedHeaders(responseHeaderPlugins, decision, answeredBy, faults);
  }

  get responseHeadersFrom(): RoutedRequest['responseHeadersFrom'] {
    const { responseHeaderPlugins, decision, faults } = this.#parts;
    if (responseHeaderPlugins.length === 0) return undefined;
    return (served) => {
      const answeredBy = { endpoint: this.#endpointAt(served) ?? this.endpoint, reported: served };
      return addedHeaders(responseHeaderPlugins, decision, answeredBy, faults);
    };
  }

  get responseMetadata(): RoutedRequest['responseMetadata'] {
    const { reporters, faults } = this.#parts;
    if (reporters.length === 0) return undefined;
    return (usage) => reportedValues(reporters, usage, faults);
  }

  /** Without a visible first token, the prefill counts as done when the engine model expects it. */
  expectPrefill(ttftMs: Millis): void {
    const { clock, reservation } = this.#parts;
    this.#prefillTimer = clock.setTimer(ttftMs, () => reservation.prefilled());
  }

  /**
   * Its first token is seen late. The prefill counts as done from the time that the engine model
   * expects, in `ttftMs`, for `unseenMs`: if the first token was not seen by then, it has not come.
   */
  expectUnseen(ttftMs: Millis, unseenMs: Millis): void {
    const { clock, reservation } = this.#parts;
    this.#unseenTimer = clock.setTimer(ttftMs, () => {
      reservation.expectPrefilled(true);
      this.#unseenTimer = clock.setTimer(unseenMs, () => reservation.expectPrefilled(false));
    });
  }

  loadReported(report: LoadReport): void {
    if (this.#ended) return;
    const { clock, pool } = this.#parts;
    pool.report(this.#servedBy.id, report, clock.begin());
    clock.end();
  }

  windowReported(tokens: number): void {
    if (this.#ended || !(tokens > 0)) return;
    this.#setWindow(tokens);
  }

  streams(): void {
    if (this.#streams || this.#ended) return;
    this.#streams = true;
    this.#parts.observers.streams(this.#parts.routed);
  }

  firstToken(): void {
    if (this.#ended) return;
    const { clock, observers, reservation, routed, ejector } = this.#parts;
    if (this.#firstTokenSeen) {
      if (this.#streams && this.wantsTokens) observers.token(routed, clock.now());
      return;
    }
    this.#firstTokenSeen = true;
    this.#unseenTimer?.cancel();
    const at = clock.begin();
    reservation.prefilled();
    ejector.firstToken(routed, this.#servedBy, at);
    observers.firstToken(routed, at);
    clock.end();
  }

  get wantsTokens(): boolean {
    return this.#parts.observers.wantsTokens;
  }

  served(address: string): void {
    // Envoy says it again with each piece of the answer.
    if (this.#ended || address === this.#reported) return;
    const { clock, observers, routed } = this.#parts;
    const at = clock.begin();
    observers.served(routed, address, at);
    this.#reported = address;
    if (address !== this.destinations[0]) this.#moveTo(address, at);
    clock.end();
  }

  bodyRead(request: InferenceRequest): void {
    if (this.#ended) return;
    const { clock, observers, routed } = this.#parts;
    clock.begin();
    observers.bodyRead(routed, request);
    clock.end();
  }

  get wantsAnswer(): boolean {
    return this.#parts.observers.wantsAnswer;
  }

  answered(conversation: PromptBlocks): void {
    if (this.#ended) return;
    const { clock, observers, routed } = this.#parts;
    clock.begin();
    observers.answered(routed, conversation);
    clock.end();
  }

  done(outcome: Outcome, usage?: Usage, responseBytes?: number, status?: number): void {
    if (this.#ended) return;
    this.#ended = true;
    const { clock, endsAt, observers, routed, open, ejector } = this.#parts;
    open?.delete(this);
    const at = clock.begin();
    const counted = countedUsage(usage, this.#servedBy, this.#parts);
    const ending = { outcome, usage: counted, responseBytes, status };
    // Where the end of the response is not seen, its outcome says nothing about the endpoint.
    ejector.done(routed, this.#servedBy, {
      at,
      outcome: endsAt === undefined ? outcome : 'aborted',
    });
    observers.ended(routed, at, ending);
    const leftMs = outcome === 'completed' ? (endsAt ?? 0) - at : 0;
    // What is predicted has a limit, too: nothing else would release the reservation.
    const waitMs = Math.min(leftMs, open?.maxAgeMs ?? leftMs);
    if (leftMs > 0) this.#settleIn(waitMs, ending);
    else this.#settle(ending);
    clock.end();
  }

  /** The stream that would report the end is lost: its gateway has vanished, or never ended it. */
  expire(): void {
    this.done('aborted');
  }

  /** The proxy may have used a fallback or an endpoint that was not named. */
  #moveTo(address: string, at: Millis): void {
    const { reservation, ejector, routed } = this.#parts;
    const actual = this.#endpointAt(address);
    if (actual === undefined) return;
    if (actual.slot !== routed.endpoint.slot) ejector.notReached(routed, at);
    this.#servedBy = actual;
    reservation.moveTo(actual);
  }

  #setWindow(tokens: number | undefined): void {
    const { clock, pool } = this.#parts;
    const { id } = this.#servedBy;
    clock.begin();
    if (pool.get(id)?.attribute(CONTEXT_WINDOW) !== tokens) pool.set(id, CONTEXT_WINDOW, tokens);
    clock.end();
  }

  #endpointAt(address: string | undefined): Endpoint | undefined {
    if (address === undefined) return undefined;
    const { pool } = this.#parts;
    const target = this.#targets[this.destinations.indexOf(address)];
    return target ?? pool.snapshot().find((endpoint) => endpoint.address === address);
  }

  get #targets(): readonly Endpoint[] {
    const { decision, pool } = this.#parts;
    return targetsOf(decision, () => pool.snapshot());
  }

  #settleIn(waitMs: Millis, ending: Ending): void {
    this.#parts.clock.setTimer(waitMs, () => this.#settle(ending));
  }

  #settle(ending: Ending): void {
    const { clock, observers, reservation, routed } = this.#parts;
    this.#prefillTimer?.cancel();
    this.#unseenTimer?.cancel();
    reservation.release();
    observers.done(routed, clock.now(), ending);
  }
}
