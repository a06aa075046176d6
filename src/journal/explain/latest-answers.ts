import { OUTCOMES, type Outcome, type Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** What became of a request after its pick. */
export interface RequestAnswer {
  readonly outcome: Outcome | 'under-way';
  /** The status of the answer's headers; left out where none have come. */
  readonly status?: number;
  /** The address that the proxy used, where it is not the one that was picked. */
  readonly servedBy?: string;
}

/** How the latest requests at one address ended. */
export interface AnswersAt {
  /** Requests that were answered or failed, without those whose clients left. */
  readonly requests: number;
  /** By the status of the answer, or `no answer`, or `broken`. */
  readonly failed: Readonly<Record<string, number>>;
  /** Answers from 400 to 499, by status: the request may be to blame, or the server. */
  readonly refused: Readonly<Record<string, number>>;
  /** Requests that were picked for it, and that the proxy sent elsewhere. */
  readonly sentElsewhere: number;
  /** When the last of them failed; left out where none did. */
  readonly lastFailedAt?: Millis;
}

/** What is known of an address without a request. */
export const NONE: AnswersAt = { requests: 0, failed: {}, refused: {}, sentElsewhere: 0 };

/** A list shows no more; at 17 bytes, an id and two addresses each they take some 400 KB. */
const REQUESTS_MAX = 4096;
/** What ended longer ago says nothing about the present. */
const RECENT_MS: Millis = 300_000;
const UNDER_WAY = OUTCOMES.length;
const CLIENT_ERROR = 400;
const SERVER_ERROR = 500;

/** How the last requests ended, in memory of fixed size. */
export class LatestAnswers {
  readonly #ids: (string | undefined)[] = [];
  readonly #picked: string[] = [];
  readonly #servedBy: (string | undefined)[] = [];
  readonly #outcomes = new Uint8Array(REQUESTS_MAX);
  readonly #statuses = new Float64Array(REQUESTS_MAX);
  readonly #endedAt = new Float64Array(REQUESTS_MAX);

  onRouted({ number, request, endpoint }: Routed): void {
    const place = number % REQUESTS_MAX;
    this.#ids[place] = request.id;
    this.#picked[place] = endpoint.address;
    this.#servedBy[place] = undefined;
    this.#outcomes[place] = UNDER_WAY;
    this.#statuses[place] = Number.NaN;
  }

  onServed({ number, request, endpoint }: Routed, address: string): void {
    const place = number % REQUESTS_MAX;
    // The place belongs to a later request if so many have come meanwhile.
    if (this.#ids[place] !== request.id) return;
    this.#servedBy[place] = address === endpoint.address ? undefined : address;
  }

  onEnded({ number, request }: Routed, at: Millis, outcome: Outcome, status?: number): void {
    const place = number % REQUESTS_MAX;
    if (this.#ids[place] !== request.id) return;
    this.#outcomes[place] = OUTCOMES.indexOf(outcome);
    this.#statuses[place] = status ?? Number.NaN;
    this.#endedAt[place] = at;
  }

  /** By our own id of the request; reads all of them. */
  byId(): ReadonlyMap<string, RequestAnswer> {
    const known = new Map<string, RequestAnswer>();
    // A request that was refused has a number and no answer: its place may be empty.
    for (const [place, id] of this.#ids.entries()) {
      if (id !== undefined) known.set(id, this.#at(place));
    }
    return known;
  }

  /** By address, of the requests that ended in the last five minutes. */
  byAddress(now: Millis): ReadonlyMap<string, AnswersAt> {
    const known = new Map<string, Counted>();
    const of = (address: string): Counted => {
      const counted = known.get(address) ?? { ...NONE, failed: {}, refused: {} };
      known.set(address, counted);
      return counted;
    };
    for (const [place, id] of this.#ids.entries()) {
      if (id === undefined) continue;
      const answer = this.#at(place);
      const { outcome, servedBy } = answer;
      if (outcome === 'under-way' || now - (this.#endedAt[place] ?? 0) > RECENT_MS) continue;
      const picked = this.#picked[place] ?? '';
      if (servedBy !== undefined) of(picked).sentElsewhere += 1;
      if (outcome === 'aborted') continue;
      const counted = of(servedBy ?? picked);
      counted.requests += 1;
      const { status = 0 } = answer;
      if (status >= CLIENT_ERROR && status < SERVER_ERROR) {
        counted.refused[status] = (counted.refused[status] ?? 0) + 1;
      }
      if (outcome !== 'failed') continue;
      const why = failureOf(answer);
      counted.failed[why] = (counted.failed[why] ?? 0) + 1;
      counted.lastFailedAt = Math.max(counted.lastFailedAt ?? 0, this.#endedAt[place] ?? 0);
    }
    return known;
  }

  #at(place: number): RequestAnswer {
    const status = this.#statuses[place] ?? Number.NaN;
    const servedBy = this.#servedBy[place];
    return {
      outcome: OUTCOMES[this.#outcomes[place] ?? UNDER_WAY] ?? 'under-way',
      ...(Number.isFinite(status) && { status }),
      ...(servedBy !== undefined && { servedBy }),
    };
  }
}

interface Counted extends AnswersAt {
  requests: number;
  readonly failed: Record<string, number>;
  readonly refused: Record<string, number>;
  sentElsewhere: number;
  lastFailedAt?: Millis;
}

/** How a request has failed: an answer that began well was cut off, or ended with an error. */
function failureOf({ status }: RequestAnswer): string {
  if (status === undefined) return 'no answer';
  return status >= SERVER_ERROR ? String(status) : 'broken';
}

/** What became of a request, in a few words. */
export function answerText(answer: RequestAnswer): string {
  const by = answer.servedBy === undefined ? '' : ` by ${answer.servedBy}`;
  return `${endText(answer)}${by}`;
}

function endText(answer: RequestAnswer): string {
  const { outcome, status } = answer;
  if (outcome === 'under-way') return 'under way';
  if (outcome === 'aborted') return 'ended early';
  if (outcome === 'failed') return `failed: ${failureOf(answer)}`;
  return status === undefined ? 'ok' : String(status);
}
