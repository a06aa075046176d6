import type { Endpoint } from '../../framework/endpoint.ts';
import type { InferenceRequest } from '../../framework/request.ts';
import type { RoutedRequest } from '../../framework/routing.ts';
import type { Random } from '../../framework/runtime.ts';
import type { Ejector } from '../ejection/ejector.ts';
import type { Journal } from '../events/journal.ts';
import type { EndpointPool } from '../pool/endpoint-pool.ts';
import { subsetOf } from '../pool/subset.ts';
import { noCandidates } from './cycle.ts';
import { headersWithRank } from './rank-destinations.ts';

export interface AnywhereOptions {
  readonly pool: EndpointPool;
  readonly ejector: Ejector;
  readonly journal: Journal;
  readonly random: Random;
}

const NO_HEADERS: ReadonlyMap<string, string> = new Map();

/**
 * Sends requests that any endpoint can answer, such as one for the list of models, to an endpoint
 * by chance, as the reference does. Endpoints that fail are left out while others are there.
 */
export class Anywhere {
  readonly #options: AnywhereOptions;

  constructor(options: AnywhereOptions) {
    this.#options = options;
  }

  /** Throws RoutingError `no-endpoints` where the pool or the subset has no endpoint. */
  route(request: InferenceRequest, subset: readonly string[] | undefined): RoutedRequest {
    const { pool, ejector, journal, random } = this.#options;
    const all = subsetOf(pool.snapshot(), subset);
    const healthy = ejector.remaining(all);
    // A fork of the random numbers: decisions draw the same numbers as without this request.
    const endpoint = healthy[Math.floor(random.fork(request.id).next() * healthy.length)];
    if (endpoint === undefined) throw noCandidates({ all, options: { subset } }, pool);
    journal.passed(request, endpoint);
    return new PassedRequest(request, endpoint);
  }
}

/** A request that is passed on, and from which nothing is learned. */
class PassedRequest implements RoutedRequest {
  readonly request: InferenceRequest;
  readonly endpoint: Endpoint;
  readonly headers: ReadonlyMap<string, string>;
  readonly wantsAnswer = false;

  constructor(request: InferenceRequest, endpoint: Endpoint) {
    this.request = request;
    this.endpoint = endpoint;
    this.headers = headersWithRank({ headers: NO_HEADERS }, endpoint);
  }

  get destinations(): readonly string[] {
    return [this.endpoint.address];
  }

  responseHeaders(): ReadonlyMap<string, string> {
    return NO_HEADERS;
  }

  firstToken(): void {}
  served(): void {}
  bodyRead(): void {}
  answered(): void {}
  done(): void {}
}
