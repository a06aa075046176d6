/** Where a span is. Parts are absent or empty where the file does not say them. */
export interface SpanPlace {
  readonly trace: string | undefined;
  readonly span: string | undefined;
  /** The span around it. */
  readonly parent: string | undefined;
}

/**
 * About 25 MB. The spans of one call are exported within seconds, which are fewer spans also at
 * thousands of calls a second.
 */
const SPANS_HELD_MAX = 100_000;
/** From the client to the server there are about ten spans; a damaged trace may have a loop. */
const LEVELS_MAX = 64;

interface HeldSpan {
  /** The key of the span around it. */
  readonly parent: string | undefined;
  /** Whether it names the operation, as spans of clients do and those of vLLM do not. */
  readonly named: boolean;
  /** Whether it counts as a call of a model, unless it is left out. */
  isCall: boolean;
  row?: number | undefined;
  leftOut?: boolean;
  /** Whether it stands for several calls that have spans of their own. */
  isSum?: boolean;
}

/**
 * Finds the calls of models that a trace has twice: as the client's span, and within it the server's.
 * Holds a bounded number of spans; of two that are further apart in the file both count.
 */
export class NestedCalls {
  /** By trace and span, from the oldest on. */
  readonly #spans = new Map<string, HeldSpan>();
  readonly #spansMax: number;
  readonly #leftOut: number[] = [];
  /** Calls without a row, of which so many have got one since. */
  #unplaced: HeldSpan[] = [];
  #placed = 0;

  constructor(spansMax: number = SPANS_HELD_MAX) {
    this.#spansMax = spansMax;
  }

  /** Adds a call of a model, which `placeCall` gives its row. */
  addCall(place: SpanPlace, named: boolean): void {
    const call = { parent: parentOf(place), named, isCall: true };
    this.#unplaced.push(call);
    this.#hold(place, call);
  }

  /** Adds another span that may be between the client's and the server's. */
  addOther(place: SpanPlace): void {
    const parent = parentOf(place);
    // The way up ends at what is not held.
    if (parent !== undefined) this.#hold(place, { parent, named: false, isCall: false });
  }

  /** Tells the row of the first call that has none; undefined if its request was refused. */
  placeCall(row: number | undefined): void {
    const call = this.#unplaced[this.#placed++];
    if (call !== undefined) {
      call.row = row;
      call.isCall = row !== undefined;
      if (call.leftOut === true && row !== undefined) this.#leftOut.push(row);
    }
    if (this.#placed < this.#unplaced.length) return;
    this.#unplaced = [];
    this.#placed = 0;
  }

  /** The rows of calls that other spans show as well, after the last span. */
  rowsLeftOut(): readonly number[] {
    this.#settle();
    return this.#leftOut;
  }

  #hold({ trace, span }: SpanPlace, held: HeldSpan): void {
    if (!trace || !span) return;
    this.#spans.set(keyOf(trace, span), held);
    if (this.#spans.size <= this.#spansMax) return;
    this.#settle();
    for (const key of this.#spans.keys()) {
      if (this.#spans.size <= this.#spansMax / 2) break;
      this.#spans.delete(key);
    }
  }

  #settle(): void {
    for (const { named, isCall, parent } of this.#spans.values()) {
      if (!named || !isCall) continue;
      for (const outer of this.#callsFrom(parent)) {
        if (outer.named) continue;
        outer.isSum = true;
        this.#leaveOut(outer);
      }
    }
    for (const span of this.#spans.values()) {
      if (!span.isCall) continue;
      for (const outer of this.#callsFrom(span.parent)) {
        if (outer.isSum !== true) this.#leaveOut(span);
      }
    }
  }

  /** The calls from this span on outwards. */
  *#callsFrom(parent: string | undefined): Generator<HeldSpan, void> {
    let key = parent;
    for (let level = 0; level < LEVELS_MAX && key !== undefined; level++) {
      const span = this.#spans.get(key);
      if (span?.isCall === true) yield span;
      key = span?.parent;
    }
  }

  #leaveOut(call: HeldSpan): void {
    if (call.leftOut === true) return;
    call.leftOut = true;
    if (call.row !== undefined) this.#leftOut.push(call.row);
  }
}

function parentOf({ trace, span, parent }: SpanPlace): string | undefined {
  return trace && parent && parent !== span ? keyOf(trace, parent) : undefined;
}

function keyOf(trace: string, span: string): string {
  return `${trace} ${span}`;
}
