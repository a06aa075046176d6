import type { InFlightLoad } from '../../framework/cycle-facts.ts';
import type { Millis } from '../../framework/runtime.ts';

type Counts = {
  -readonly [Count in keyof Omit<InFlightLoad, 'sentPrefillTokens' | keyof ShownLoad>]-?: number;
};

/** What samples have shown of the server. */
type ShownLoad = Pick<InFlightLoad, 'runningMax' | 'keptShare'>;

/**
 * Why a request is taken for lost: a later one has overtaken it, or the metrics of its server have
 * fewer requests than were sent there.
 */
export type LostBy = 'overtaken' | 'missing';

/** A reservation as its endpoint's list has it. */
export interface ListedReservation {
  /** The reservations made just before and after it there. Only the entry sets them. */
  older: ListedReservation | undefined;
  newer: ListedReservation | undefined;
  readonly isElsewhere: boolean;
  /** When it was sent; infinite where that is not known. */
  readonly sentAt: Millis;
  /** From when on its first token is late; infinite where none will be seen, or one was. */
  readonly owedAt: Millis;
  /**
   * From when on its server's metrics must count it, if it is there; infinite while it may still
   * wait in front of the engine.
   */
  readonly countedFrom: Millis;
  /** Whether its server counts it in its metrics as soon as it comes. */
  readonly isCountedAtOnce: boolean;
  /** Tokens of its prompt that are not computed, until its first token. */
  readonly pendingTokens: number;
  readonly lost: LostBy | undefined;
  /**
   * While it is taken for lost, it is no load: until its first token comes, or it is found again.
   */
  setLost(lost: LostBy | undefined): void;
}

/** What is in flight at one endpoint. */
export class EndpointEntry {
  /** Without the requests that are taken for lost. */
  readonly load: Counts & { -readonly [Name in keyof ShownLoad]-?: number | undefined } = {
    requests: 0,
    pendingPrefillTokens: 0,
    contextTokens: 0,
    countedTokens: 0,
    begunRequests: 0,
    runningMax: undefined,
    keptShare: undefined,
  };
  /** Model → requests, without those that are taken for lost. */
  readonly models: Map<string, number> = new Map();
  /** All that is reserved, and of it what other replicas have sent. */
  open = 0;
  openElsewhere = 0;
  /** How many of `open` are taken for lost. */
  lost = 0;
  /** What is reserved, in the order in which it was sent. */
  oldest: ListedReservation | undefined;
  newest: ListedReservation | undefined;
  /** Whether a sample has shown that requests run: else its engine may not report them at all. */
  reportsRunning = false;
  /** When the newest request was sent of those whose first token was seen. */
  answeredSentAt: Millis = Number.NEGATIVE_INFINITY;
  /**
   * The entry of an endpoint with this address that left the pool, where its requests have not
   * ended.
   */
  readonly former: EndpointEntry | undefined;

  constructor(former: EndpointEntry | undefined) {
    this.former = former;
  }

  append(reservation: ListedReservation): void {
    reservation.older = this.newest;
    if (this.newest === undefined) this.oldest = reservation;
    else this.newest.newer = reservation;
    this.newest = reservation;
  }

  /** To be called only for one that was appended. */
  unlink(reservation: ListedReservation): void {
    const { older, newer } = reservation;
    if (older === undefined) this.oldest = newer;
    else older.newer = newer;
    if (newer === undefined) this.newest = older;
    else newer.older = older;
    // What V8 has moved to its old generation would keep its neighbours in the list alive until a
    // full collection.
    reservation.older = undefined;
    reservation.newer = undefined;
  }
}

/** The requests at the address of an endpoint, also of before it left the pool. */
export function openIn(entry: EndpointEntry, of: 'all' | 'here'): number {
  let open = 0;
  for (let each: EndpointEntry | undefined = entry; each !== undefined; each = each.former) {
    open += of === 'all' ? each.open : each.open - each.openElsewhere;
  }
  return open;
}
