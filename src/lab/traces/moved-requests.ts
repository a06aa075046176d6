import type { TraceRequest, TraceRequests } from './trace.ts';

/** The requests of a trace at other times, perhaps in another order; each is made when it is asked for. */
export class MovedRequests implements TraceRequests {
  readonly #requests: TraceRequests;
  readonly #moved: (request: TraceRequest, place: number) => TraceRequest;
  /** The places in the trace, in the order of arrival, where that is not the trace's. */
  readonly #order: Uint32Array | undefined;

  constructor(
    requests: TraceRequests,
    moved: (request: TraceRequest, place: number) => TraceRequest,
    order?: Uint32Array,
  ) {
    this.#requests = requests;
    this.#moved = moved;
    this.#order = order;
  }

  get length(): number {
    return this.#requests.length;
  }

  at(index: number): TraceRequest | undefined {
    const asked = index < 0 ? index + this.length : index;
    if (asked < 0) return undefined;
    const place = this.#order?.[asked] ?? asked;
    const request = this.#requests.at(place);
    return request && this.#moved(request, place);
  }

  *[Symbol.iterator](): Generator<TraceRequest, void> {
    for (let index = 0; index < this.length; index++) yield this.at(index) as TraceRequest;
  }
}
