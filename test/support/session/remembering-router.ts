import type { Endpoint, LoadReport } from '../../../src/framework/endpoint.ts';
import { RoutingError } from '../../../src/framework/error.ts';
import type { Outcome, Usage } from '../../../src/framework/observer.ts';
import type { InferenceRequest, PromptBlocks } from '../../../src/framework/request.ts';
import type { RoutedRequest, RouteOptions, Router } from '../../../src/framework/routing.ts';

interface Ended {
  readonly outcome: Outcome;
  readonly usage: Usage | undefined;
}

interface Routing {
  readonly request: InferenceRequest;
  readonly options: RouteOptions | undefined;
}

export const SCORED: NonNullable<RoutedRequest['scored']> = [
  { endpoint: { address: '10.0.0.1:8000' } as Endpoint, score: 0.5 },
];

/** Picks the same destinations for every request, and remembers what it is told. */
export class RememberingRouter implements Pick<Router, 'route'> {
  readonly routed: Routing[] = [];
  readonly read: InferenceRequest[] = [];
  readonly conversations: PromptBlocks[] = [];
  readonly served: string[] = [];
  readonly loadReports: LoadReport[] = [];
  readonly windows: number[] = [];
  readonly ended: Ended[] = [];
  /** Headers that plugins set on answers. */
  readonly responseMarks: Map<string, string> = new Map();
  firstTokens = 0;
  readonly #destinations: readonly string[];
  readonly #responseMetadata: RoutedRequest['responseMetadata'];

  constructor(
    destinations: readonly string[],
    responseMetadata: RoutedRequest['responseMetadata'],
  ) {
    this.#destinations = destinations;
    this.#responseMetadata = responseMetadata;
  }

  readonly route = (request: InferenceRequest, options?: RouteOptions): RoutedRequest => {
    if (options?.subset?.length === 0) throw new RoutingError('no-endpoints', 'none of 3');
    this.routed.push({ request, options });
    let open = true;
    return {
      request,
      endpoint: {} as Endpoint,
      destinations: this.#destinations,
      scored: SCORED,
      headers: new Map(),
      responseHeaders: () => this.responseMarks,
      firstToken: () => {
        this.firstTokens += 1;
      },
      served: (address) => void this.served.push(address),
      loadReported: (report) => void this.loadReports.push(report),
      windowReported: (tokens) => void this.windows.push(tokens),
      bodyRead: (complete) => void this.read.push(complete),
      wantsAnswer: true,
      responseMetadata: this.#responseMetadata,
      answered: (conversation) => void this.conversations.push(conversation),
      done: (outcome, usage) => {
        if (open) this.ended.push({ outcome, usage });
        open = false;
      },
    };
  };
}
