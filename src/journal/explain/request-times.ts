import type { Routed } from '../../framework/observer.ts';
import type { Millis } from '../../framework/runtime.ts';

/** When the first token of a request was expected and came, in milliseconds from its arrival. */
export interface RequestTimes {
  /** See `heldMs` of `Routed`; documents have this name. */
  readonly waitedMs: Millis;
  /** Left out where the picker predicts nothing. */
  readonly predictedTtftMs?: Millis;
  /**
   * Left out until the first token comes, and where it is not seen, as in an answer that is not
   * streamed.
   */
  readonly observedTtftMs?: Millis;
}

/** A list shows no more; at 24 bytes and an id each they take some 300 KB. */
const REQUESTS_MAX = 4096;

/** The times of the last requests, in memory of fixed size. */
export class LastRequestTimes {
  readonly #ids: (string | undefined)[] = [];
  readonly #held = new Float64Array(REQUESTS_MAX);
  readonly #predicted = new Float64Array(REQUESTS_MAX);
  readonly #observed = new Float64Array(REQUESTS_MAX);

  onRouted({ number, request, heldMs = 0, expectedTtftMs = Number.NaN }: Routed): void {
    const place = number % REQUESTS_MAX;
    this.#ids[place] = request.id;
    this.#held[place] = heldMs;
    this.#predicted[place] = heldMs + expectedTtftMs;
    this.#observed[place] = Number.NaN;
  }

  onFirstToken({ number, request, at: pickedAt, heldMs = 0 }: Routed, at: Millis): void {
    // An answer in one piece comes with its last token.
    if (!request.streaming) return;
    const place = number % REQUESTS_MAX;
    // The place belongs to a later request if so many have come meanwhile.
    if (this.#ids[place] === request.id) this.#observed[place] = at - pickedAt + heldMs;
  }

  /** By our own id of the request; reads all of them. */
  byId(): ReadonlyMap<string, RequestTimes> {
    const known = new Map<string, RequestTimes>();
    // A request that was refused has a number and no times: its place may be empty.
    for (const [place, id] of this.#ids.entries()) {
      if (id !== undefined) known.set(id, this.#at(place));
    }
    return known;
  }

  #at(place: number): RequestTimes {
    const predictedTtftMs = this.#predicted[place] ?? Number.NaN;
    const observedTtftMs = this.#observed[place] ?? Number.NaN;
    return {
      waitedMs: this.#held[place] ?? 0,
      ...(Number.isFinite(predictedTtftMs) && { predictedTtftMs }),
      ...(Number.isFinite(observedTtftMs) && { observedTtftMs }),
    };
  }
}
