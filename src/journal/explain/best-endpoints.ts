import type { Endpoint } from '../../framework/endpoint.ts';
import type { ScoredEndpoint, Totals } from '../../framework/scheduling.ts';
import { TARGETS_MAX } from './record-format.ts';

/** More than `explain` shows without being asked. */
const BEST_MAX = 16;

/** The places of the endpoints whose scores a record keeps: the best by total, and all targets. */
export class BestEndpoints {
  /** The best first, then targets that are not among them; only the first `count` count. */
  readonly places: Uint16Array;
  count = 0;
  readonly #endpointsMax: number;
  readonly #most: number;
  /** The totals of the best, in the order of `places`. */
  readonly #totals: Float64Array;

  /** All are kept up to `endpointsMax`; of more the best, at least the pick and the runner-up. */
  constructor(endpointsMax: number) {
    this.#endpointsMax = Math.max(2, endpointsMax);
    this.#most = Math.min(BEST_MAX, this.#endpointsMax);
    this.places = new Uint16Array(this.#most + TARGETS_MAX);
    this.#totals = new Float64Array(this.#most);
  }

  /** Whether so many endpoints are too many to keep all. */
  leavesOut(endpoints: number): boolean {
    return endpoints > this.#endpointsMax;
  }

  /** Call it for more endpoints than are kept. Totals must be finite. */
  select({ endpoints, totals }: Totals, targets: readonly ScoredEndpoint[]): void {
    this.#selectBest(totals);
    for (let at = 0; at < targets.length && at < TARGETS_MAX; at++) {
      this.#addTarget(endpoints, targets[at] as ScoredEndpoint);
    }
  }

  /** Best first; among equals the first ones. */
  #selectBest(scores: readonly number[]): void {
    const last = this.#most - 1;
    const totals = this.#totals;
    totals.fill(Number.NEGATIVE_INFINITY);
    let least = Number.NEGATIVE_INFINITY;
    for (let place = 0; place < scores.length; place++) {
      const score = scores[place] as number;
      if (score <= least) continue;
      this.#insert(place, score, last);
      least = totals[last] as number;
    }
    this.count = this.#most;
  }

  #insert(place: number, score: number, last: number): void {
    const { places } = this;
    const totals = this.#totals;
    let at = last;
    for (; at > 0 && (totals[at - 1] as number) < score; at--) {
      totals[at] = totals[at - 1] as number;
      places[at] = places[at - 1] as number;
    }
    totals[at] = score;
    places[at] = place;
  }

  /** The best of the selected endpoints, `pick` left out. */
  other(endpoints: readonly Endpoint[], pick: Endpoint): Endpoint | undefined {
    const [first, second] = this.places;
    const endpoint = endpoints[first as number];
    return endpoint === pick ? endpoints[second as number] : endpoint;
  }

  /** A picker need not go by totals. */
  #addTarget(endpoints: readonly Endpoint[], { endpoint }: ScoredEndpoint): void {
    for (let at = 0; at < this.count; at++) {
      if (endpoints[this.places[at] as number] === endpoint) return;
    }
    const place = endpoints.indexOf(endpoint);
    if (place >= 0) this.places[this.count++] = place;
  }
}
