import { type Trace, TraceError, type TraceRequest } from '../trace.ts';
import { LEFT_OUT, REQUESTS_MAX, type ReadResult } from '../trace-format.ts';

export interface CollectOptions {
  readonly source: string;
  /** Bad lines are left out and counted, and what is out of order is sorted, instead of refusing the trace. */
  readonly lenient: boolean;
  /** Whether another order than that of arrival is damage. */
  readonly ordered: boolean;
}

/** Beyond two years from the first request a time is damaged; simulated pools are scraped all along. */
const SPAN_MS_MAX = 2 * 366 * 86_400_000;

/** Gathers the requests of a trace, and judges their order. Its methods throw TraceError where that is not lenient. */
export class TraceCollector {
  readonly #options: CollectOptions;
  #requests: TraceRequest[] = [];
  readonly #notes: string[] = [];
  #repaired = 0;
  #leftOut = 0;
  #firstMs = Number.NaN;
  /** Of the requests that must be in order. */
  #latestMs = Number.NEGATIVE_INFINITY;
  #lastMs = Number.NEGATIVE_INFINITY;
  #sorted = true;
  #line = 1;

  constructor(options: CollectOptions) {
    this.#options = options;
  }

  /** What a reader made of a line. */
  add(result: ReadResult, line: number): void {
    this.#line = line;
    if (typeof result === 'string') this.refuse(result, line);
    else if ('atMs' in result) this.#addRequest(result, line);
    else {
      for (const each of result) {
        if (each === LEFT_OUT) this.#leftOut += 1;
        else this.#addRequest(each, line);
      }
    }
  }

  /** A line that cannot be read. */
  refuse(message: string, line: number): void {
    if (!this.#options.lenient) throw new TraceError(this.#options.source, line, message);
    this.#repaired += 1;
    this.#line = line;
  }

  note(sentence: string): void {
    this.#notes.push(sentence);
  }

  /** Times are moved so that the first request comes at 0. Throws TraceError where there is no request. */
  trace(blockTokens: number): Trace {
    const { source } = this.#options;
    if (this.#requests.length === 0) {
      throw new TraceError(source, this.#line, 'no request in the whole trace');
    }
    if (!this.#sorted) this.#requests.sort((a, b) => a.atMs - b.atMs);
    if (this.#leftOut > 0) {
      this.note(`${this.#leftOut} records left out: of no request whose sizes are known`);
    }
    const requests = fromZero(this.#withOutputs());
    return { blockTokens, requests, repaired: this.#repaired, notes: this.#notes };
  }

  #addRequest(request: TraceRequest, line: number): void {
    const { source, ordered, lenient } = this.#options;
    const { atMs, thinkMs } = request;
    if (Number.isNaN(this.#firstMs)) this.#firstMs = atMs;
    if (!(Math.abs(atMs - this.#firstMs) <= SPAN_MS_MAX)) {
      this.refuse(`at ${atMs} ms, more than two years from the first request`, line);
      return;
    }
    if (atMs < this.#lastMs) this.#sorted = false;
    this.#lastMs = atMs;
    // A turn that waits for an answer may stand before others that come earlier.
    if (thinkMs === undefined) {
      if (ordered && atMs < this.#latestMs) {
        const message = `at ${atMs} ms, before the request above at ${this.#latestMs} ms`;
        if (!lenient) throw new TraceError(source, line, message);
        this.#repaired += 1;
      }
      this.#latestMs = Math.max(this.#latestMs, atMs);
    }
    // Held from its own beginning on, so that nothing has to be copied at the end.
    this.#requests.push({ ...request, atMs: atMs - this.#firstMs });
    if (this.#requests.length > REQUESTS_MAX) {
      throw new TraceError(source, line, `more than ${REQUESTS_MAX} requests; cut the trace`);
    }
  }

  /** An answer whose length nobody knows, because it failed or its reader left, counts as one of the middle. */
  #withOutputs(): readonly TraceRequest[] {
    const known = this.#requests.flatMap(({ outputTokens }) =>
      Number.isNaN(outputTokens) ? [] : [outputTokens],
    );
    const unknown = this.#requests.length - known.length;
    if (unknown === 0) return this.#requests;
    const median = known.sort((a, b) => a - b)[known.length >> 1] ?? 1;
    this.note(`${unknown} answers of unknown length: taken as ${median} tokens, the median`);
    return this.#requests.map((request) =>
      Number.isNaN(request.outputTokens) ? { ...request, outputTokens: median } : request,
    );
  }
}

function fromZero(requests: readonly TraceRequest[]): readonly TraceRequest[] {
  // Above 0 never: the first that was read is at 0.
  const startMs = requests[0]?.atMs ?? 0;
  if (startMs === 0) return requests;
  return requests.map((request) => ({ ...request, atMs: request.atMs - startMs }));
}
