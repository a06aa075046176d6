import type { Endpoint } from '../../framework/endpoint.ts';
import type { Millis } from '../../framework/runtime.ts';
import type { EndpointEntry, ListedReservation, LostBy } from './endpoint-entry.ts';

/** One request's load at an endpoint, in whole tokens, so that sums return to exactly zero. */
export interface ReservationSize {
  readonly model: string;
  readonly prefillTokens: number;
  /** Prompt and expected output. */
  readonly contextTokens: number;
  /** What counts until the first token; `prefillTokens` where it is left out. */
  readonly countedTokens?: number | undefined;
  /** What counts until the end, in place of that. */
  readonly keptTokens?: number | undefined;
  /** Where it is left out, the request is never taken for lost. */
  readonly sent?: KnownWhenSent | undefined;
}

/** What is known of a request when it is sent. */
export interface KnownWhenSent {
  readonly at: Millis;
  /** How long its first token was expected to take. */
  readonly ttftMs: Millis;
  readonly firstTokenVisible: boolean;
  /**
   * Whether the server counts it in its metrics soon after it was sent: not where its prompt is
   * computed elsewhere first, or where images are fetched first.
   */
  readonly isCountedAtOnce: boolean;
}

/** One request's reservation. Its methods may be called in any order and any number of times. */
export interface Reservation {
  /** The prefill is done: its tokens are no longer pending. */
  prefilled(): void;
  /**
   * Whether the prefill should be done, though its first token was not seen: its tokens are not
   * pending as long as that is so. Nothing else is taken from it.
   */
  expectPrefilled(isExpected: boolean): void;
  /** Moves the reservation to the endpoint that really serves the request. */
  moveTo(endpoint: Endpoint): void;
  /** Releases what is still reserved. */
  release(): void;
}

/** What a reservation needs of the ledger. */
interface LedgerEntries {
  entryOf(endpoint: Endpoint): EndpointEntry | undefined;
  /** An endpoint has become freer. */
  becameFreer(): void;
}

/** A first token is late after this time, and after so many times as long as expected. */
const LATE_MS: Millis = 2000;
const TIMES_EXPECTED = 8;

/** Whether this picker has sent the request, or another replica. */
export type SentFrom = 'here' | 'elsewhere';

/** What one request has reserved at one endpoint. */
export class EndpointReservation implements Reservation, ListedReservation {
  older: ListedReservation | undefined;
  newer: ListedReservation | undefined;
  readonly isElsewhere: boolean;
  readonly #ledger: LedgerEntries;
  readonly #model: string;
  readonly #sent: KnownWhenSent | undefined;
  readonly #contextTokens: number;
  readonly #isKept: boolean;
  #entry: EndpointEntry | undefined;
  #prefillTokens: number;
  #counted: number;
  #begun: 0 | 1 = 0;
  #isPrefillExpected = false;
  #isOpen = true;
  #lost: LostBy | undefined;

  constructor(
    ledger: LedgerEntries,
    entry: EndpointEntry | undefined,
    size: ReservationSize,
    sentFrom: SentFrom,
  ) {
    this.#ledger = ledger;
    this.#model = size.model;
    this.#sent = size.sent;
    this.#prefillTokens = Math.ceil(size.prefillTokens);
    this.#contextTokens = Math.ceil(size.contextTokens);
    this.#isKept = size.keptTokens !== undefined;
    this.#counted = Math.ceil(size.keptTokens ?? size.countedTokens ?? size.prefillTokens);
    this.isElsewhere = sentFrom === 'elsewhere';
    this.#enter(entry);
  }

  get sentAt(): Millis {
    return this.#sent?.at ?? Number.POSITIVE_INFINITY;
  }

  get owedAt(): Millis {
    return this.#sent?.firstTokenVisible === true && this.#begun === 0
      ? this.#lateAt(this.#sent)
      : Number.POSITIVE_INFINITY;
  }

  get countedFrom(): Millis {
    const sent = this.#sent;
    if (sent === undefined) return Number.POSITIVE_INFINITY;
    if (sent.firstTokenVisible && this.#begun === 1) return sent.at;
    const lateAt = this.#lateAt(sent);
    const answeredSentAt = this.#entry?.answeredSentAt ?? Number.NEGATIVE_INFINITY;
    return sent.isCountedAtOnce && lateAt <= answeredSentAt ? lateAt : Number.POSITIVE_INFINITY;
  }

  get isCountedAtOnce(): boolean {
    return this.#sent?.isCountedAtOnce === true;
  }

  get pendingTokens(): number {
    return this.#prefillTokens;
  }

  get lost(): LostBy | undefined {
    return this.#lost;
  }

  setLost(lost: LostBy | undefined): void {
    const entry = this.#entry;
    if (!this.#isOpen || this.#lost === lost || entry === undefined) return;
    this.#count(entry, -1);
    this.#lost = lost;
    this.#count(entry, 1);
    if (lost !== undefined) this.#ledger.becameFreer();
  }

  prefilled(): void {
    if (!this.#isOpen) return;
    this.setLost(undefined);
    const entry = this.#entry;
    if (entry !== undefined) {
      entry.load.pendingPrefillTokens -= this.#countedPending;
      if (!this.#isKept) entry.load.countedTokens -= this.#counted;
      entry.load.begunRequests += 1 - this.#begun;
      if (this.#sent?.firstTokenVisible === true) {
        entry.answeredSentAt = Math.max(entry.answeredSentAt, this.#sent.at);
      }
    }
    this.#prefillTokens = 0;
    if (!this.#isKept) this.#counted = 0;
    this.#begun = 1;
    this.#ledger.becameFreer();
  }

  expectPrefilled(isExpected: boolean): void {
    if (!this.#isOpen || this.#isPrefillExpected === isExpected) return;
    const before = this.#countedPending;
    this.#isPrefillExpected = isExpected;
    const entry = this.#lost === undefined ? this.#entry : undefined;
    if (entry !== undefined) entry.load.pendingPrefillTokens += this.#countedPending - before;
    if (isExpected) this.#ledger.becameFreer();
  }

  moveTo(endpoint: Endpoint): void {
    if (!this.#isOpen) return;
    this.#leave();
    this.#enter(this.#ledger.entryOf(endpoint));
  }

  release(): void {
    if (!this.#isOpen) return;
    this.#leave();
    this.#isOpen = false;
  }

  get #countedPending(): number {
    return this.#isPrefillExpected ? 0 : this.#prefillTokens;
  }

  #lateAt({ at, ttftMs }: KnownWhenSent): Millis {
    return at + Math.max(LATE_MS, TIMES_EXPECTED * ttftMs);
  }

  #enter(entry: EndpointEntry | undefined): void {
    this.#entry = entry;
    if (entry === undefined) return;
    entry.append(this);
    entry.open += 1;
    if (this.isElsewhere) entry.openElsewhere += 1;
    this.#count(entry, 1);
  }

  #leave(): void {
    const entry = this.#entry;
    this.#ledger.becameFreer();
    if (entry === undefined) return;
    this.#count(entry, -1);
    this.#lost = undefined;
    entry.open -= 1;
    if (this.isElsewhere) entry.openElsewhere -= 1;
    entry.unlink(this);
  }

  #count(entry: EndpointEntry, sign: 1 | -1): void {
    if (this.#lost !== undefined) {
      entry.lost += sign;
      return;
    }
    const { load, models } = entry;
    load.requests += sign;
    load.begunRequests += sign * this.#begun;
    load.pendingPrefillTokens += sign * this.#countedPending;
    load.contextTokens += sign * this.#contextTokens;
    load.countedTokens += sign * this.#counted;
    const count = (models.get(this.#model) ?? 0) + sign;
    if (count > 0) models.set(this.#model, count);
    else models.delete(this.#model);
  }
}
